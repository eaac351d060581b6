#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// A broken invariant of Weft itself: a bug, which no request can cause.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Reports a bug. In production it throws InternalError, which the actor's edge turns into an exit
/// reason, so that supervision decides; builds with sanitizers abort, so that a test stops where
/// the bug is.
[[noreturn]] void internal_error(std::string_view reason,
                                 std::source_location where = std::source_location::current());

/// Reports a bug in code that must not throw, such as destructors: aborts under sanitizers,
/// otherwise does nothing, so the caller must be left in a state that is safe to go on with.
void internal_error_noexcept(std::string_view reason,
                             std::source_location where = std::source_location::current()) noexcept;

}  // namespace weft
