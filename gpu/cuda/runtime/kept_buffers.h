#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/kernels/cuda/cuda_types.h"

namespace weft::cuda {

/// Buffers of one size that are kept when they are given back, as many as were ever taken at once,
/// for those whose taking holds up others. They stay until the process ends. Any thread.
class KeptBuffers {
 public:
  /// Takes one that is not there yet.
  using Allocate = std::function<Status(std::byte*&)>;

  explicit KeptBuffers(Allocate allocate) : allocate_(std::move(allocate)) {}

  /// One that nobody has. What `allocate` says where there is none, and std::bad_alloc.
  Status take(std::byte*& memory);
  void give_back(std::byte* memory) noexcept;

 private:
  const Allocate allocate_;
  std::mutex mutex_;
  std::vector<std::byte*> kept_;  // room for all that were ever taken
  std::size_t all_ = 0;
};

}  // namespace weft::cuda
