#include "weft/kernels/sample/sample.h"

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {

TokenId sample(std::span<const float> logits, const SampleParams& params,
               std::span<std::uint64_t> scratch) {
  require(logits.size() <= INT32_MAX, "sample: more logits than ids");
  require(!(params.temperature > 0) || scratch.size() / 2 >= logits.size(),
          "sample: scratch is smaller than 2 * V");
  return cpu::sample(logits, params, scratch);
}

}  // namespace weft
