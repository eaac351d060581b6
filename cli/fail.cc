#include "weft/cli/fail.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace weft::cli {

namespace {

[[noreturn]] void leave(std::string_view verb, const std::string& why, int status) {
  std::cerr << "weft " << verb << ": " << why << '\n';
  throw CLI::RuntimeError(status);
}

}  // namespace

void fail(std::string_view verb, const std::string& why) { leave(verb, why, kExitFailed); }

void fail(std::string_view verb, const Error& error, int status) {
  leave(verb, to_string(error), status);
}

}  // namespace weft::cli
