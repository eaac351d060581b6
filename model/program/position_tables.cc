#include "weft/model/program/position_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace weft {

std::vector<float> sinusoidal_positions(std::int64_t positions, std::int64_t width, bool endpoint) {
  std::vector<float> table(static_cast<std::size_t>(positions * width), 0.0F);
  const std::int64_t half = width / 2;
  const std::int64_t steps = std::max<std::int64_t>(endpoint ? half - 1 : half, 1);
  const double step = std::log(10000.0) / static_cast<double>(steps);
  for (std::int64_t i = 0; i < half; ++i) {
    const auto frequency = static_cast<float>(std::exp(-step * static_cast<double>(i)));
    for (std::int64_t position = 0; position < positions; ++position) {
      const float angle = static_cast<float>(position) * frequency;
      float* row = table.data() + position * width;
      row[i] = static_cast<float>(std::sin(static_cast<double>(angle)));
      row[half + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
    }
  }
  return table;
}

std::vector<float> alibi_slopes(std::int32_t heads, float scale) {
  const auto power = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(heads)));
  std::vector<float> slopes;
  for (std::int32_t i = 0; i < heads; ++i) {
    const double exponent =
        i < power ? -8.0 * (i + 1) / power : -4.0 * (2 * (i - power) + 1) / power;
    slopes.push_back(static_cast<float>(std::exp2(exponent)) * scale);
  }
  return slopes;
}

}  // namespace weft
