#include "weft/train/step/dropout.h"

#include "weft/train/random_numbers.h"

namespace weft {

void drop(const DropoutParams& params, Share share) {
  const Dropout& dropout = params.dropout;
  const std::uint64_t site = RandomNumbers(dropout.key ^ RandomNumbers(params.site).next()).next();
  const auto least = static_cast<float>(dropout.probability);
  const auto scale = static_cast<float>(1 / (1 - dropout.probability));
  const auto [begin, end] = share.of(params.in.count);
  for (std::int64_t t = begin; t < end; ++t) {
    const auto token = static_cast<std::uint64_t>(dropout.first + t);
    RandomNumbers random(RandomNumbers(site ^ token).next());
    const float* const in = params.in.row(t);
    float* const out = params.out.row(t);
    for (std::int64_t i = 0; i < params.in.width; ++i) {
      const float kept = random.uniform() < least ? 0 : in[i] * scale;
      out[i] = params.adds ? out[i] + kept : kept;
    }
  }
}

}  // namespace weft
