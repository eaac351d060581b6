#pragma once

#include <cstdint>
#include <vector>

#include "weft/model/program/rotary_frequencies.h"

namespace weft {

/// The cosines and sines of a rotary embedding by position, [positions, R/2] each. The long set, if
/// there is one, begins at row `long_offset`.
struct RotaryTable {
  std::vector<float> cosines;
  std::vector<float> sines;
  std::int64_t positions = 0;  ///< rows of both sets
  std::int64_t long_offset = 0;
};

[[nodiscard]] RotaryTable make_rotary_table(const RotaryFrequencies& frequencies,
                                            std::int64_t positions);

}  // namespace weft
