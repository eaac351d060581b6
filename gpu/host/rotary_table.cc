#include "weft/gpu/host/rotary_table.h"

#include <cmath>

namespace weft {
namespace {

void append(RotaryTable& table, const std::vector<float>& frequency, float magnitude,
            std::int64_t positions) {
  for (std::int64_t position = 0; position < positions; ++position) {
    for (const float each : frequency) {
      // The product is rounded to float32 as in the reference implementations.
      const float angle = static_cast<float>(position) * each;
      table.cosines.push_back(std::cos(angle) * magnitude);
      table.sines.push_back(std::sin(angle) * magnitude);
    }
  }
  table.positions += positions;
}

}  // namespace

RotaryTable make_rotary_table(const RotaryFrequencies& frequencies, std::int64_t positions) {
  RotaryTable table;
  append(table, frequencies.frequency, frequencies.magnitude, positions);
  if (!frequencies.long_frequency.empty()) {
    table.long_offset = table.positions;
    append(table, frequencies.long_frequency, frequencies.long_magnitude, positions);
  }
  return table;
}

}  // namespace weft
