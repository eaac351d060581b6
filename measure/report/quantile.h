#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::measure {

/// Returns the value below which `part` (0..1) of the values lie, which is the nearest of them.
/// `values` must not be empty.
[[nodiscard]] inline double quantile(std::vector<double> values, double part) {
  const double place = part * static_cast<double>(values.size() - 1) + 0.5;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace weft::measure
