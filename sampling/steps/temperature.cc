#include "weft/sampling/steps/temperature.h"

#include <algorithm>

#include "weft/sampling/portable_math.h"

namespace weft::sampling {

float dynamic_temperature(float temperature, const DynamicTemperatureParams& params,
                          const Softmax& softmax) {
  const float least = std::max(temperature - params.range, 0.0F);
  if (softmax.count < 2) return least;
  const double most_entropy = portable_log(static_cast<double>(softmax.count));
  const double share = std::clamp(softmax.entropy / most_entropy, 0.0, 1.0);
  const double rise = portable_pow(share, static_cast<double>(params.exponent));
  const float most = temperature + params.range;
  return least + (most - least) * static_cast<float>(rise);
}

}  // namespace weft::sampling
