#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {

/// A thread for each rank; the first is the caller's. All do the same work at once. A thread that
/// has just worked spins for more work for kLooking before it sleeps, because steps follow each
/// other closely and waking takes a tenth of a small step. Owner only.
class RankThreads {
 public:
  static constexpr std::chrono::microseconds kLooking{100};

  explicit RankThreads(std::size_t ranks);
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;
  ~RankThreads();

  [[nodiscard]] std::size_t size() const noexcept { return threads_.size() + 1; }

  /// Calls work(rank) on each rank's thread and returns when all have returned. Throws the first
  /// exception.
  void run(const std::function<void(std::size_t rank)>& work);

 private:
  void serve(std::size_t rank);
  void do_work(std::size_t rank);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  // Changed under the mutex, and read without it.
  std::atomic<std::uint64_t> runs_ = 0;
  std::atomic<std::size_t> busy_ = 0;
  std::atomic<bool> stopping_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace weft
