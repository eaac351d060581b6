#include "weft/sampling/best_of.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace weft {

std::vector<std::size_t> best_outputs(std::span<const OutputScore> outputs, std::size_t count) {
  const auto mean = [&](std::size_t place) {
    const OutputScore& output = outputs[place];
    const double value = output.logprob_sum / static_cast<double>(output.tokens);
    return std::isnan(value) || output.tokens == 0 ? -std::numeric_limits<double>::infinity()
                                                   : value;
  };
  std::vector<std::size_t> places(outputs.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, std::greater<>(), mean);
  places.resize(std::min(count, places.size()));
  return places;
}

}  // namespace weft
