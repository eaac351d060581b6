#include "weft/jobs/tuning/job_progress.h"

namespace weft {

void JobProgress::note(const StepReport& step, std::optional<StateToSave> state) {
  {
    const std::scoped_lock lock(mutex_);
    news_.steps.push_back(step);
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
