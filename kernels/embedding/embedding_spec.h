#pragma once

#include <cstdint>

namespace weft {

/// The attributes of an embedding. One struct for the spec reader, the program, the host and the
/// devices.
struct EmbeddingSpec {
  float scale = 1;                   ///< multiplies the table's row
  std::int64_t position_offset = 0;  ///< is added to a token's position
};

}  // namespace weft
