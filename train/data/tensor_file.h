#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// Numbers in memory that become a tensor of a file. Borrowed.
struct NamedNumbers {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> numbers;
};

/// Writes a new safetensors file of float32, and returns once it is on the disk. kExists,
/// kCannotWrite.
[[nodiscard]] Result<void> write_tensor_file(const std::filesystem::path& path,
                                             std::span<const NamedNumbers> tensors);

}  // namespace weft
