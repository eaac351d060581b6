#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/core/metrics.h"

namespace weft {

/// Counts the memory of request bodies and WebSocket messages until they are decoded: while they
/// are read, and while they wait in a stream or for the tokenizer. Bytes are counted as they come,
/// not as they are announced. Thread-safe.
class BodyMemory {
 public:
  BodyMemory(std::int64_t limit, MetricsRegistry& metrics);
  BodyMemory(const BodyMemory&) = delete;
  BodyMemory& operator=(const BodyMemory&) = delete;

  /// The memory of one body, released by the destructor or by assignment. Owner only.
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

    /// Returns false, and changes nothing, when there is no room.
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
