#include "weft/core/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/system/errc.hpp>
#include <cstdint>

namespace weft {

void name_this_thread(std::string_view name) noexcept {
  std::array<char, 16> text{};
  std::copy_n(name.begin(), std::min(name.size(), text.size() - 1), text.begin());
  pthread_setname_np(pthread_self(), text.data());
}

boost::system::error_code pin_this_thread(int cpu) noexcept {
  if (cpu < 0 || cpu >= CPU_SETSIZE) {
    return make_error_code(boost::system::errc::invalid_argument);
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  return {pthread_setaffinity_np(pthread_self(), sizeof(set), &set),
          boost::system::system_category()};
}

void ask_for_short_slices() noexcept {
  // sched_setattr(2)'s first version; the C library declares it only since 2.41.
  struct {
    std::uint32_t size = sizeof(*this);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0;  // the slice, when the thread is an ordinary one
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
  } attributes;
  constexpr std::uint64_t kShortest = 100'000;  // nanoseconds
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // another policy was chosen on purpose
  attributes.runtime = kShortest;
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

void block_sigpipe_in_this_thread() noexcept {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace weft
