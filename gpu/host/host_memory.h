#pragma once

#include <cstddef>
#include <span>

#include "weft/core/error/error.h"

namespace weft {

/// Zeroed memory of this process, page-aligned, in huge pages where the system gives them. Taken
/// from the system when it is first touched. Movable; the bytes stay where they are.
class HostMemory {
 public:
  HostMemory() = default;
  /// DeviceErrc::kOutOfMemory naming the size.
  [[nodiscard]] static Result<HostMemory> allocate(std::size_t bytes);

  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] float* floats() const noexcept { return reinterpret_cast<float*>(bytes_.data()); }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace weft
