#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {

/// A thread for each rank; all do the same work at once. Owner only.
class RankThreads {
 public:
  explicit RankThreads(std::size_t ranks);
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;
  ~RankThreads();

  [[nodiscard]] std::size_t size() const noexcept { return threads_.size(); }

  /// Calls work(rank) on each rank's thread and returns when all have returned; throws what was
  /// thrown first.
  void run(const std::function<void(std::size_t rank)>& work);

 private:
  void serve(std::size_t rank);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::uint64_t runs_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace weft
