#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/dtype.h"

namespace weft {

/// A tensor that a writer gives a place in its file.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  ///< of numbers, outermost first
};

/// Where a file's tensors go, and what stands before them.
struct TensorLayout {
  std::vector<std::byte> header;
  std::vector<std::uint64_t> offsets;  ///< of each entry's first byte, in the file
  std::uint64_t size = 0;              ///< of the whole file
};

}  // namespace weft
