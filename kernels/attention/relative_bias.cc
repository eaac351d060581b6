#include "weft/kernels/attention/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "weft/kernels/require.h"

namespace weft {

RelativeBuckets::RelativeBuckets(std::int32_t buckets, std::int32_t max_distance,
                                 bool bidirectional)
    : side_(bidirectional ? buckets / 2 : buckets),
      exact_(side_ / 2),
      max_distance_(max_distance),
      bidirectional_(bidirectional) {
  require(side_ >= 2 && buckets <= kMaxRelativeBuckets, "relative bias: the number of buckets");
  require(max_distance > exact_, "relative bias: max_distance");
  starts_[0] = exact_;
  for (std::int32_t i = 1; i < side_ - exact_; ++i) {
    // Buckets rise with the distance: finds the first distance in this bucket or a later one.
    std::int32_t low = starts_[static_cast<std::size_t>(i - 1)];
    std::int32_t high = max_distance;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (rounded_bucket(middle) >= exact_ + i) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    starts_[static_cast<std::size_t>(i)] = low;
  }
}

std::int32_t RelativeBuckets::rounded_bucket(std::int32_t magnitude) const noexcept {
  const auto exact = static_cast<float>(exact_);
  const auto range = static_cast<float>(std::log(static_cast<double>(max_distance_) / exact_));
  const float ratio = std::log(static_cast<float>(magnitude) / exact) / range;
  return exact_ + static_cast<std::int32_t>(ratio * static_cast<float>(side_ - exact_));
}

std::int32_t RelativeBuckets::bucket_of(std::int32_t distance) const noexcept {
  const std::int32_t base = bidirectional_ && distance > 0 ? side_ : 0;
  const std::int32_t magnitude = bidirectional_ ? std::abs(distance) : std::max(-distance, 0);
  if (magnitude < exact_) return base + magnitude;
  const auto last = starts_.begin() + (side_ - exact_);
  const auto above = std::upper_bound(starts_.begin(), last, magnitude);
  return base + exact_ + static_cast<std::int32_t>(above - starts_.begin()) - 1;
}

}  // namespace weft
