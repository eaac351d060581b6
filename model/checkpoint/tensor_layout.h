#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/dtype.h"

namespace weft {

/// A tensor to which a writer gives a place in its file.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  ///< shape in numbers, outermost first
};

/// The places of a file's tensors, and the bytes before them.
struct TensorLayout {
  std::vector<std::byte> header;
  std::vector<std::uint64_t> offsets;  ///< offset of each entry's first byte in the file
  std::uint64_t size = 0;              ///< bytes of the whole file
};

}  // namespace weft
