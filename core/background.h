#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

namespace weft {

/// Lowers the priority of the calling thread for good, and of threads that it starts from now on.
/// Where processors are short, such a thread gets a third of the share that other threads get.
void let_others_go_first() noexcept;

/// Runs long work without delaying requests: calls `work` on a thread of low priority, waits for
/// it, and returns the result or throws the exception of `work`.
template <class Work>
auto run_in_background(Work&& work) -> std::invoke_result_t<Work> {
  std::packaged_task<std::invoke_result_t<Work>()> task([&work] {
    let_others_go_first();
    return work();
  });
  auto result = task.get_future();
  std::jthread(std::move(task)).join();
  return result.get();
}

/// A thread's use of the processors.
struct ThreadUse {
  std::chrono::nanoseconds computed{0};
  std::int64_t displaced = 0;  ///< how often another thread took its processor from it
};
/// Returns the use of the calling thread up to now.
[[nodiscard]] ThreadUse use_of_this_thread() noexcept;

/// How long a thread pauses between pieces of long work, so that requests are served beside it. If
/// another thread has taken this thread's processor since the last piece, the pause is nine times
/// as long as the thread has computed: the thread then uses a tenth of a processor. With less it
/// would never finish; with more, threads that wake up would often find the processor taken. Where
/// processors are free it never pauses. Owner only: each thread has one.
class BackgroundPace {
 public:
  /// `now` is the thread's use when its first piece of work begins.
  explicit BackgroundPace(const ThreadUse& now) noexcept : before_(now) {}

  /// The pause before the next piece.
  [[nodiscard]] std::chrono::nanoseconds pause(const ThreadUse& now) noexcept;

 private:
  ThreadUse before_;
};

/// To be called between two pieces of the thread's work, of about a millisecond each: offers its
/// processor to threads that wait for one, and then pauses at the pace. A stop ends the pause.
void let_others_run(BackgroundPace& pace, const std::stop_token& stop = {});

}  // namespace weft
