#pragma once

#include <cstdint>

namespace weft {

/// The attributes of an embedding. The spec reader, the program, the host and the devices share
/// this struct.
struct EmbeddingSpec {
  float scale = 1;                   ///< multiplies the table's row
  std::int64_t position_offset = 0;  ///< added to a token's position
};

}  // namespace weft
