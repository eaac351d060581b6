#include "weft/kernels/gradients/norm_gradient.h"

#include <cmath>
#include <cstdint>

#include "weft/kernels/require.h"

namespace weft {
namespace {

struct RowMoments {
  double mean = 0;
  double inverse = 1;
};

RowMoments moments_of(const NormSpec& spec, const float* row, std::int64_t n) {
  RowMoments moments;
  if (spec.kind == NormKind::kLayer) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += row[i];
    moments.mean = sum / static_cast<double>(n);
  }
  double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double difference = row[i] - moments.mean;
    squares += difference * difference;
  }
  moments.inverse = 1 / std::sqrt(squares / static_cast<double>(n) + spec.eps);
  return moments;
}

// With y the normalized row and g the gradient by y: dx = (g - mean(g) - y * mean(g * y)) / sigma.
// A norm without a mean omits mean(g).
void row_gradient(const NormGradientParams& params, const float* in, const float* from, float* to) {
  const std::int64_t n = params.in.width;
  const RowMoments moments = moments_of(params.spec, in, n);
  const auto factor = [&](std::int64_t i) {
    const double weight =
        params.weight != nullptr ? double{params.weight[i]} + params.spec.weight_offset : 1.0;
    return weight * params.scale;
  };
  const auto normalized = [&](std::int64_t i) { return (in[i] - moments.mean) * moments.inverse; };
  double mean = 0;
  double along = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double gradient = from[i] * factor(i);
    mean += gradient;
    along += gradient * normalized(i);
  }
  mean = params.spec.kind == NormKind::kLayer ? mean / static_cast<double>(n) : 0;
  along /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double gradient = from[i] * factor(i) - mean - normalized(i) * along;
    to[i] += static_cast<float>(gradient * moments.inverse);
  }
}

}  // namespace

void norm_gradient(const NormGradientParams& params, Share share) {
  require(holds_rows(params.out_gradient, params.in.count, params.in.width) &&
              holds_rows(params.in_gradient, params.in.count, params.in.width),
          "norm_gradient: rows do not fit in");
  const auto [begin, end] = share.of(params.in.count);
  for (std::int64_t t = begin; t < end; ++t) {
    row_gradient(params, params.in.row(t), params.out_gradient.row(t), params.in_gradient.row(t));
  }
}

}  // namespace weft
