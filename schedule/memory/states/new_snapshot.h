#pragma once

#include <cstdint>

namespace weft {

/// A snapshot that a plan makes of a sequence's state, until a node of the prefix tree has it.
struct NewSnapshot {
  std::int32_t slot = -1;
  std::uint64_t serial = 0;   ///< of the snapshot: its slot may be another's by now
  std::int32_t tokens = 0;    ///< of the sequence, whose state it is
  std::uint64_t made_in = 0;  ///< the plan
};

}  // namespace weft
