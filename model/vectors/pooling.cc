#include "weft/model/vectors/pooling.h"

#include <algorithm>
#include <cmath>

namespace weft {

Pooled::Pooled(PoolingKind kind, std::size_t size, std::int32_t tokens)
    : kind_(kind), tokens_(tokens), next_(first()), sums_(size) {}

void Pooled::add(std::int32_t position, std::span<const float> hidden) noexcept {
  if (position < first() || position >= end()) return;
  const bool begins = position == first();
  const double own = weight(position);
  for (std::size_t i = 0; i < std::min(sums_.size(), hidden.size()); ++i) {
    const auto number = static_cast<double>(hidden[i]);
    if (begins) {
      sums_[i] = own * number;
    } else if (kind_ == PoolingKind::kMax) {
      sums_[i] = std::max(sums_[i], number);
    } else {
      sums_[i] += own * number;
    }
  }
  next_ = position + 1;
}

double Pooled::weight(std::int32_t position) const noexcept {
  return kind_ == PoolingKind::kWeightedMean ? static_cast<double>(position) + 1 : 1;
}

double Pooled::divisor() const noexcept {
  const auto tokens = static_cast<double>(tokens_);
  if (kind_ == PoolingKind::kMean) return tokens;
  if (kind_ == PoolingKind::kMeanSqrt) return std::sqrt(tokens);
  return kind_ == PoolingKind::kWeightedMean ? tokens * (tokens + 1) / 2 : 1;
}

std::vector<float> Pooled::vector() const {
  std::vector<float> vector(sums_.size());
  std::ranges::transform(sums_, vector.begin(),
                         [by = divisor()](double sum) { return static_cast<float>(sum / by); });
  return vector;
}

}  // namespace weft
