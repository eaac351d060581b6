#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::measure {

/// Returns the value below which `part` (0..1) of the values lie, rounded to the nearest value.
/// `values` must not be empty.
[[nodiscard]] inline double quantile(std::vector<double> values, double part) {
  const double place = part * static_cast<double>(values.size() - 1) + 0.5;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Returns the middle value; of an even number, the mean of the two in the middle. `values` must
/// not be empty.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace weft::measure
