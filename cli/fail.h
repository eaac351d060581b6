#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/core/error/error.h"

namespace weft::cli {

/// Exit status of a verb that could not do what it was asked to.
inline constexpr int kExitFailed = 1;

/// Exit status for a command line that is not understood, the same number as shells' own commands
/// use.
inline constexpr int kExitUsage = 2;

/// Exit status of `weft serve` when its engine cannot serve any more, for example because it lost
/// its GPU: EX_SOFTWARE of sysexits.h. A supervisor should start a new process. After kExitFailed a
/// new process would fail, too.
inline constexpr int kEngineLost = 70;

/// Exit status of a process that a signal has told to end, as shells show it.
[[nodiscard]] constexpr int status_after(int signal) { return 128 + signal; }

/// Reports failures from now on as lines of the log in JSON. It is for a verb whose log.format is
/// json, so that its standard error has nothing but JSON.
void tell_failures_in_json() noexcept;

/// Prints "weft VERB: why" on standard error and leaves the verb with the status.
[[noreturn]] void fail(std::string_view verb, const std::string& why);
[[noreturn]] void fail(std::string_view verb, const Error& error, int status = kExitFailed);

/// Returns the value, or calls fail().
template <class T>
T value_or_fail(std::string_view verb, Result<T>&& result) {
  if (!result) fail(verb, result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace weft::cli
