#include "weft/kernels/gradients/epilogue_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "weft/kernels/gradients/activation_slope.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

/// The result for one output, and its derivatives by the one or two sums that it is computed from.
struct EpiloguePoint {
  float value = 0;
  float by_first = 0;
  float by_up = 0;
};

EpiloguePoint plain_at(const LinearSpec& spec, float sum) {
  ActivationPoint point = activation_at(spec.activation, spec.xielu, sum);
  if (spec.soft_cap > 0) {
    const float bent = std::tanh(point.value / spec.soft_cap);
    point = {spec.soft_cap * bent, point.slope * (1 - bent * bent)};
  }
  return {spec.scale * point.value, spec.scale * point.slope, 0};
}

ActivationPoint gate_at(const LinearSpec& spec, float gate) {
  if (spec.gate_alpha == 0) return activation_at(spec.activation, spec.xielu, gate);
  const float part = 1.0F / (1.0F + std::exp(-spec.gate_alpha * gate));
  return {gate * part, part + spec.gate_alpha * gate * part * (1 - part)};
}

EpiloguePoint gated_at(const LinearSpec& spec, float gate, float up) {
  bool gate_moves = true;
  bool up_moves = true;
  if (spec.gate_limit > 0) {
    gate_moves = gate <= spec.gate_limit;
    up_moves = std::abs(up) <= spec.gate_limit;
    gate = std::min(gate, spec.gate_limit);
    up = std::clamp(up, -spec.gate_limit, spec.gate_limit);
  }
  up += spec.up_offset;
  const ActivationPoint point = gate_at(spec, gate);
  return {spec.scale * point.value * up, gate_moves ? spec.scale * point.slope * up : 0.0F,
          up_moves ? spec.scale * point.value : 0.0F};
}

EpiloguePoint point_at(const LinearSpec& spec, bool gated, const float* sums, std::int64_t i,
                       std::int64_t width) {
  return gated ? gated_at(spec, sums[i], sums[width + i]) : plain_at(spec, sums[i]);
}

}  // namespace

void finish_linear(const EpilogueParams& params, Share share) {
  const std::int64_t width = params.out.width;
  require(holds_rows(params.sums, params.out.count, params.gated ? 2 * width : width),
          "finish_linear: sums do not fit out");
  const auto [begin, end] = share.of(params.out.count);
  for (std::int64_t t = begin; t < end; ++t) {
    const float* sums = params.sums.row(t);
    const float* residual = params.residual.data != nullptr ? params.residual.row(t) : nullptr;
    float* out = params.out.row(t);
    for (std::int64_t i = 0; i < width; ++i) {
      const float value = point_at(params.spec, params.gated, sums, i, width).value;
      out[i] = residual != nullptr ? residual[i] + value : value;
    }
  }
}

void epilogue_gradient(const EpilogueGradientParams& params, Share share) {
  const std::int64_t width = params.out_gradient.width;
  const std::int64_t sums_width = params.gated ? 2 * width : width;
  require(holds_rows(params.sums, params.out_gradient.count, sums_width) &&
              holds_rows(params.sums_gradient, params.out_gradient.count, sums_width),
          "epilogue_gradient: sums do not fit out");
  const auto [begin, end] = share.of(params.out_gradient.count);
  for (std::int64_t t = begin; t < end; ++t) {
    const float* sums = params.sums.row(t);
    const float* from = params.out_gradient.row(t);
    float* to = params.sums_gradient.row(t);
    for (std::int64_t i = 0; i < width; ++i) {
      const EpiloguePoint point = point_at(params.spec, params.gated, sums, i, width);
      to[i] = from[i] * point.by_first;
      if (params.gated) to[width + i] = from[i] * point.by_up;
    }
  }
}

}  // namespace weft
