#include "weft/cli/fail.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "weft/net/service/request_log.h"

namespace weft::cli {

namespace {

/// Global, because the program's threads share it as they share standard error. Set before the
/// other threads begin.
bool failures_are_json = false;

void print_in_json(const std::string& why) {
  constexpr auto kJson = RequestLog::Format::kJson;
  RequestLog log(make_stderr_logger(kJson, "error"), kJson, false);
  log.error(why);
  log.flush();
}

[[noreturn]] void leave(std::string_view verb, const std::string& why, int status) {
  if (failures_are_json) {
    print_in_json(why);
  } else {
    std::cerr << "weft " << verb << ": " << why << '\n';
  }
  throw CLI::RuntimeError(status);
}

}  // namespace

void tell_failures_in_json() noexcept { failures_are_json = true; }

void fail(std::string_view verb, const std::string& why) { leave(verb, why, kExitFailed); }

void fail(std::string_view verb, const Error& error, int status) {
  leave(verb, to_string(error), status);
}

}  // namespace weft::cli
