#include "weft/gpu/ranks/rank_threads.h"

#include <string>
#include <utility>

#include "weft/core/thread.h"

namespace weft {
namespace {

/// Checks a condition repeatedly, until it holds or the time is over.
template <class Condition>
void look_for(const Condition& is_so) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + RankThreads::kLooking;
  while (!is_so() && Clock::now() < end) std::this_thread::yield();
}

}  // namespace

RankThreads::RankThreads(std::size_t ranks) {
  threads_.reserve(ranks);
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    threads_.emplace_back([this, rank] { serve(rank); });
  }
}

RankThreads::~RankThreads() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  begun_.notify_all();
}

void RankThreads::run(const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = size();
    failure_ = nullptr;
    ++runs_;
    begun_.notify_all();
  }
  do_work(0);
  look_for([this] { return busy_ == 0; });
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void RankThreads::serve(std::size_t rank) {
  name_this_thread("weft-rank-" + std::to_string(rank));
  std::uint64_t done = 0;
  for (;;) {
    const auto is_wanted = [&] { return stopping_ || runs_ != done; };
    look_for(is_wanted);
    {
      std::unique_lock lock(mutex_);
      begun_.wait(lock, is_wanted);
      if (stopping_) return;
      done = runs_;
    }
    do_work(rank);
  }
}

void RankThreads::do_work(std::size_t rank) {
  std::exception_ptr failure;
  try {
    (*work_)(rank);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (failure && !failure_) failure_ = failure;
  if (--busy_ == 0) ended_.notify_all();
}

}  // namespace weft
