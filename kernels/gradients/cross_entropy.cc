#include "weft/kernels/gradients/cross_entropy.h"

#include <cstddef>
#include <cstdint>

#include "weft/kernels/gradients/softmax_row.h"
#include "weft/kernels/require.h"

namespace weft {

void cross_entropy(const CrossEntropyParams& params, Share share) {
  const auto rows = static_cast<std::int64_t>(params.targets.size());
  require(holds_rows(params.logits, rows, params.logits.width) &&
              params.weights.size() == params.targets.size() &&
              params.losses.size() == params.targets.size(),
          "cross_entropy: rows do not fit targets");
  const auto [begin, end] = share.of(rows);
  for (std::int64_t t = begin; t < end; ++t) {
    const auto at = static_cast<std::size_t>(t);
    const TokenId target = params.targets[at];
    require(target >= 0 && target < params.logits.width, "cross_entropy: a target outside of V");
    const std::span row(params.logits.row(t), static_cast<std::size_t>(params.logits.width));
    float& own = row[static_cast<std::size_t>(target)];
    const float logit = own;
    params.losses[at] = softmax_row(row) - logit;
    own -= 1;
    for (float& number : row) number *= params.weights[at];
  }
}

}  // namespace weft
