#include "weft/gpu/ranks/load_at_once.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>

#include "weft/gpu/ranks/rank_threads.h"

namespace weft {
namespace {

/// The total progress of ranks that load at once.
class SharedProgress {
 public:
  SharedProgress(const LoadProgress& progress, std::size_t ranks)
      : progress_(progress), done_(ranks), totals_(ranks) {}

  /// Returns the progress of one rank; it borrows this object.
  [[nodiscard]] LoadProgress of(std::size_t rank) {
    if (!progress_.tell) return progress_;
    return {[this, rank](std::int64_t done, std::int64_t total) { tell(rank, done, total); },
            progress_.stop};
  }

 private:
  void tell(std::size_t rank, std::int64_t done, std::int64_t total) {
    const std::lock_guard lock(mutex_);
    done_[rank] = done;
    totals_[rank] = total;
    // A rank that has not begun has no total yet. Nothing is reported before all have begun.
    if (std::ranges::find(totals_, 0) != totals_.end()) return;
    progress_.tell(std::accumulate(done_.begin(), done_.end(), std::int64_t{0}),
                   std::accumulate(totals_.begin(), totals_.end(), std::int64_t{0}));
  }

  const LoadProgress& progress_;
  std::mutex mutex_;
  std::vector<std::int64_t> done_, totals_;
};

}  // namespace

Result<void> on_all_ranks(std::size_t ranks,
                          const std::function<Result<void>(std::size_t rank)>& work,
                          const std::function<void(std::size_t rank)>& failed) {
  std::mutex mutex;
  std::optional<Error> first;
  RankThreads(ranks).run([&](std::size_t rank) {
    const auto done = work(rank);
    if (done) return;
    {
      const std::lock_guard lock(mutex);
      if (!first) first = done.error();
    }
    if (failed) failed(rank);
  });
  if (first) return *first;
  return {};
}

Result<void> on_all_ranks(
    std::size_t ranks, const LoadProgress& progress,
    const std::function<Result<void>(std::size_t rank, const LoadProgress& progress)>& work) {
  SharedProgress all(progress, ranks);
  return on_all_ranks(ranks, [&](std::size_t rank) { return work(rank, all.of(rank)); });
}

}  // namespace weft
