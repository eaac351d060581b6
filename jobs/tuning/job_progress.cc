#include "weft/jobs/tuning/job_progress.h"

namespace weft {

void JobProgress::begin() {
  const std::scoped_lock lock(mutex_);
  last_end_ = std::chrono::steady_clock::now();
}

void JobProgress::note(const StepReport& step, std::optional<StateToSave> state) {
  {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> took = now - std::exchange(last_end_, now);
    news_.steps.push_back(step);
    news_.seconds.push_back(took.count());
    if (state) news_.state = std::move(state);
  }
  changed_.notify_one();
}

void JobProgress::end(Result<void> result) {
  {
    const std::scoped_lock lock(mutex_);
    if (!news_.end) news_.end.emplace(std::move(result));
  }
  changed_.notify_one();
}

JobProgress::News JobProgress::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !news_.steps.empty() || news_.state || news_.end; });
  return std::exchange(news_, {});
}

}  // namespace weft
