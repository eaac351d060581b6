#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft {

/// A number in memory that threads or processes share, on which they can wait. Zero bytes are a
/// valid word. A wait ends when the number changes or `lost` is set.
class SharedWord {
 public:
  [[nodiscard]] std::uint32_t load() const noexcept {
    return value_.load(std::memory_order_acquire);
  }

  /// Adds 1 and wakes the waiting threads. Returns the previous number.
  std::uint32_t increment() noexcept;

  /// Waits while the number is `seen` and `lost` is 0; spins for the first `spin`. May return
  /// early.
  void wait(std::uint32_t seen, std::chrono::nanoseconds spin,
            const std::atomic<std::uint32_t>& lost) noexcept;

  /// Wakes all waiting threads, so that they check `lost`.
  void wake() noexcept;

 private:
  std::atomic<std::uint32_t> value_;
  std::atomic<std::uint32_t> sleepers_;
};

}  // namespace weft
