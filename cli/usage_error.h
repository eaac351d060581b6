#pragma once

#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's names
class App;
class Error;
}  // namespace CLI

namespace weft::cli {

/// Returns the text that the program prints of a wrong command line, for
/// CLI::App::failure_message(): the arguments that no option or verb takes, in their order, with
/// the name that was probably meant of each that looks mistyped; without such arguments what CLI11
/// says. Lines end with a newline.
[[nodiscard]] std::string usage_error(const CLI::App* app, const CLI::Error& error);

/// Returns the verb of `app` that was probably meant by a name; empty where none is like it.
[[nodiscard]] std::string nearest_verb(const CLI::App& app, std::string_view name);

}  // namespace weft::cli
