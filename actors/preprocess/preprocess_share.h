#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace weft {

/// A request's part of what one worker of the PreprocessPool has to do, in bytes of prompts; taken
/// off when the share ends, on whatever thread. Owner only.
class PreprocessShare {
 public:
  using Load = std::atomic<std::int64_t>;

  PreprocessShare() = default;
  PreprocessShare(std::shared_ptr<Load> load, std::int64_t bytes) noexcept
      : load_(std::move(load)), bytes_(bytes) {
    load_->fetch_add(bytes_, std::memory_order_relaxed);
  }
  PreprocessShare(PreprocessShare&& other) noexcept = default;
  PreprocessShare& operator=(PreprocessShare&& other) noexcept {
    std::swap(load_, other.load_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PreprocessShare() {
    if (load_) load_->fetch_sub(bytes_, std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<Load> load_;
  std::int64_t bytes_ = 0;
};

}  // namespace weft
