#pragma once

#include "weft/sampling/sampling_params.h"
#include "weft/sampling/steps/softmax.h"

namespace weft::sampling {

/// Returns the temperature for logits of this softmax, >= 0: temperature - range + 2 * range *
/// (entropy / ln(count)) ^ exponent. With less than two tokens, the lower end.
[[nodiscard]] float dynamic_temperature(float temperature, const DynamicTemperatureParams& params,
                                        const Softmax& softmax);

}  // namespace weft::sampling
