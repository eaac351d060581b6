#include "weft/gpu/ranks/rank_threads.h"

#include <string>
#include <utility>

#include "weft/core/thread.h"

namespace weft {

RankThreads::RankThreads(std::size_t ranks) {
  threads_.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    threads_.emplace_back([this, rank] { serve(rank); });
  }
}

RankThreads::~RankThreads() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  begun_.notify_all();
}

void RankThreads::run(const std::function<void(std::size_t)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  busy_ = threads_.size();
  failure_ = nullptr;
  ++runs_;
  begun_.notify_all();
  ended_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void RankThreads::serve(std::size_t rank) {
  name_this_thread("weft-rank-" + std::to_string(rank));
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return stopping_ || runs_ != done; });
    if (stopping_) return;
    done = runs_;
    const auto& work = *work_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work(rank);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--busy_ == 0) ended_.notify_all();
  }
}

}  // namespace weft
