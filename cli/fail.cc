#include "weft/cli/fail.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace weft::cli {

void fail(std::string_view verb, const std::string& why) {
  std::cerr << "weft " << verb << ": " << why << '\n';
  throw CLI::RuntimeError(kFailed);
}

void fail(std::string_view verb, const Error& error) { fail(verb, to_string(error)); }

}  // namespace weft::cli
