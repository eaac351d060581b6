#pragma once

#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's names
class App;
class Error;
}  // namespace CLI

namespace weft::cli {

/// Returns the text that the program prints for a wrong command line, for
/// CLI::App::failure_message(). It lists the arguments that no option or verb takes, in their
/// order; each mistyped one has the name that was probably meant. Without such arguments the text
/// is CLI11's. Lines end with a newline.
[[nodiscard]] std::string usage_error(const CLI::App* app, const CLI::Error& error);

/// Returns the verb of `app` that a name was probably meant to be; empty where no verb is like it.
[[nodiscard]] std::string nearest_verb(const CLI::App& app, std::string_view name);

}  // namespace weft::cli
