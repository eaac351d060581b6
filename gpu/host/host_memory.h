#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "weft/core/error/error.h"

namespace weft {

/// Zeroed memory of this process, page-aligned, in huge pages if the system provides them. The
/// system commits a page when it is first touched. Movable; the bytes stay where they are.
class HostMemory {
 public:
  HostMemory() = default;
  /// DeviceErrc::kOutOfMemory naming the size.
  [[nodiscard]] static Result<HostMemory> allocate(std::size_t bytes);

  /// Allocates memory that other processes open by its name ("/weft-..."), until remove_shared().
  /// All of it is committed at once. kOutOfMemory naming the size and the reason.
  [[nodiscard]] static Result<HostMemory> create_shared(const std::string& name, std::size_t bytes);
  [[nodiscard]] static Result<HostMemory> open_shared(const std::string& name, std::size_t bytes);
  static void remove_shared(const std::string& name) noexcept;

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
