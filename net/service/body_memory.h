#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/core/metrics.h"

namespace weft {

/// What bodies of requests and messages of WebSockets take together until they are decoded: those
/// being read, and those that wait in a stream or for the tokenizer. Counted as bytes come, not as
/// they are announced. Thread-safe.
class BodyMemory {
 public:
  BodyMemory(std::int64_t limit, MetricsRegistry& metrics);
  BodyMemory(const BodyMemory&) = delete;
  BodyMemory& operator=(const BodyMemory&) = delete;

  /// One body's part; given back by the destructor, or by being assigned to. Owner only.
  class Share {
   public:
    explicit Share(BodyMemory& memory) noexcept : memory_(&memory) {}
    Share(Share&& other) noexcept
        : memory_(other.memory_), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      Share old(std::move(*this));
      memory_ = other.memory_;
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Share() { clear(); }

    /// False when there is no room; then it has what it had.
    [[nodiscard]] bool grow(std::size_t more) noexcept;
    void clear() noexcept;

   private:
    BodyMemory* memory_;
    std::int64_t bytes_ = 0;
  };

 private:
  const std::int64_t limit_;
  std::atomic<std::int64_t> taken_{0};
  Gauge& bytes_;
  Counter& refused_;
};

}  // namespace weft
