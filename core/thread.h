#pragma once

#include <boost/system/error_code.hpp>
#include <string_view>

namespace weft {

/// Names the calling thread for debuggers and `top`; the system keeps the first 15 bytes.
void name_this_thread(std::string_view name) noexcept;

/// Lets the calling thread run on processor `cpu` alone. Fails with the system's error, for
/// instance invalid_argument when there is no such processor or this process may not use it.
[[nodiscard]] boost::system::error_code pin_this_thread(int cpu) noexcept;

/// A write of the calling thread to a pipe without readers fails with EPIPE, and raises no SIGPIPE
/// in the thread.
void block_sigpipe_in_this_thread() noexcept;

/// Asks the system to run the calling thread, and those it starts from now on, in short slices
/// where they share a processor with other programs. The thread's share of the processor stays the
/// same, but it runs sooner after it was woken. For threads that wait for each other every few
/// microseconds. Has no effect before Linux 6.12.
void ask_for_short_slices() noexcept;

/// Tells the processor that this thread waits in a loop.
inline void pause_thread() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace weft
