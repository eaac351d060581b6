#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/core/error/error.h"

namespace weft {

class MemoryClaim;

/// Bytes of one device's memory that several engines may take together. Give each engine the same
/// budget (PipelineOptions::memory_budget). When an engine is loaded, it takes its weights, buffers
/// and KV cache from what is left of the budget, not from the device's free memory. It gives them
/// back when it is destroyed. memory.fraction is a part of what is left. Thread-safe.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  /// `bytes` is not negative.
  [[nodiscard]] static std::shared_ptr<MemoryBudget> make(std::int64_t bytes);

  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::int64_t left() const;

  /// Calls `decide` with the bytes that are left. `decide` returns how many of them to take, or an
  /// error. No other take() runs meanwhile. Taking more than is left is a bug: internal_error.
  [[nodiscard]] Result<MemoryClaim> take(
      const std::function<Result<std::int64_t>(std::int64_t left)>& decide);

 private:
  friend class MemoryClaim;

  explicit MemoryBudget(std::int64_t bytes) : bytes_(bytes), left_(bytes) {}
  void give_back(std::int64_t bytes);

  const std::int64_t bytes_;
  mutable std::mutex mutex_;
  std::int64_t left_;
};

/// Bytes taken from a budget; the destructor returns them. Empty: none. Owner only.
class MemoryClaim {
 public:
  MemoryClaim() = default;
  MemoryClaim(std::shared_ptr<MemoryBudget> budget, std::int64_t bytes) noexcept
      : budget_(std::move(budget)), bytes_(bytes) {}
  MemoryClaim(MemoryClaim&&) noexcept = default;
  MemoryClaim& operator=(MemoryClaim&&) = delete;
  ~MemoryClaim() {
    if (budget_) budget_->give_back(bytes_);
  }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::int64_t bytes_ = 0;
};

}  // namespace weft
