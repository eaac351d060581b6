#include "weft/sampling/best_of.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace weft {

std::vector<std::size_t> best_outputs(std::span<const OutputScore> outputs, std::size_t count) {
  const auto mean = [&](std::size_t index) {
    const OutputScore& output = outputs[index];
    const double value = output.logprob_sum / static_cast<double>(output.tokens);
    return std::isnan(value) || output.tokens == 0 ? -std::numeric_limits<double>::infinity()
                                                   : value;
  };
  std::vector<std::size_t> indices(outputs.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  std::ranges::stable_sort(indices, std::greater<>(), mean);
  indices.resize(std::min(count, indices.size()));
  return indices;
}

}  // namespace weft
