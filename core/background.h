#pragma once

#include <future>
#include <thread>
#include <type_traits>
#include <utility>

namespace weft {

/// Lets other threads of this and other programs go first where processors are short: it gets a
/// third of what they do. Of the calling thread for good, and of those that it starts from now on.
void let_others_go_first() noexcept;

/// Calls `work` on a thread that lets others go first, waits for it, and returns or throws what it
/// does. For long work beside which others are served.
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

}  // namespace weft
