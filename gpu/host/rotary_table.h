#pragma once

#include <cstdint>
#include <vector>

#include "weft/model/program/rotary_frequencies.h"

namespace weft {

/// The cosines and sines of a rotary embedding by position, [positions, R/2] each; a long set
/// follows at row `long_offset` when there is one.
struct RotaryTable {
  std::vector<float> cosines;
  std::vector<float> sines;
  std::int64_t positions = 0;  ///< rows in all
  std::int64_t long_offset = 0;
};

[[nodiscard]] RotaryTable make_rotary_table(const RotaryFrequencies& frequencies,
                                            std::int64_t positions);

}  // namespace weft
