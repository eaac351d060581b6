#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/kernels/cuda/cuda_types.h"

namespace weft::cuda {

/// Buffers of one size that are kept when given back, because allocating one stalls every CUDA
/// user. They are freed only when the process ends. Any thread.
class KeptBuffers {
 public:
  /// Allocates one more buffer.
  using Allocate = std::function<Status(std::byte*&)>;

  explicit KeptBuffers(Allocate allocate) : allocate_(std::move(allocate)) {}

  /// Takes a kept buffer, or else allocates one. Returns the status of `allocate`; throws
  /// std::bad_alloc.
  Status take(std::byte*& memory);
  void give_back(std::byte* memory) noexcept;

 private:
  const Allocate allocate_;
  std::mutex mutex_;
  std::vector<std::byte*> kept_;  // has room for all_ buffers
  std::size_t all_ = 0;
};

}  // namespace weft::cuda
