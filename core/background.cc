#include "weft/core/background.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace weft {

void let_others_go_first() noexcept {
  // Linux keeps a priority for each thread, whatever POSIX says of processes. A process that was
  // started at a low priority goes lower still.
  constexpr int kNicer = 5;
  const auto thread = static_cast<id_t>(::gettid());
  static_cast<void>(
      ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kNicer));
}

ThreadUse use_of_this_thread() noexcept {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);  // in nanoseconds, where `use` has ticks
  return {std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec),
          use.ru_nivcsw};
}

std::chrono::nanoseconds BackgroundPace::pause(const ThreadUse& now) noexcept {
  constexpr int kTimesAsLong = 9;
  const ThreadUse before = std::exchange(before_, now);
  if (now.displaced == before.displaced) return std::chrono::nanoseconds(0);
  return kTimesAsLong * (now.computed - before.computed);
}

void let_others_run(BackgroundPace& pace, const std::stop_token& stop) {
  // A thread that has waited for this processor takes it now, which counts as a displacement.
  ::sched_yield();
  const auto pause = pace.pause(use_of_this_thread());
  if (pause.count() == 0) return;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop, pause, [] { return false; });
}

}  // namespace weft
