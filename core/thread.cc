#include "weft/core/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <boost/system/errc.hpp>

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

void block_sigpipe_in_this_thread() noexcept {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace weft
