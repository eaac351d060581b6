#pragma once

#include "weft/kernels/sample/portable_exp.h"
#include "weft/kernels/sample/sample_team_cuda.cuh"

/// The weights of tokens. Include it only in sources compiled without fused multiplications, so
/// that distances and weights have the same bits as on the host.
namespace weft::cuda {

inline constexpr double kUnit = 0x1p-40;

/// Returns how far a logit is below the best, <= 0; -inf for NaN. The host computes the same bits.
__device__ inline float distance_of(float logit, float best, float inverse) {
  const float distance = (0.5F * logit - 0.5F * best) * inverse * 2.0F;
  const float below = distance <= 0 ? distance : -INFINITY;  // not NaN
  return logit == best ? 0.0F : (logit > -INFINITY ? below : -INFINITY);
}

/// Returns a weight in units: at least one unit unless the weight is 0.
__device__ inline Units units_of(float weight) {
  return weight > 0 ? max(__float2ull_rn(weight * 0x1p40F), Units{1}) : 0;
}

/// Weighs tokens at temperature 1.
struct Weighed {
  static constexpr bool kCounts = false;

  float best;

  __device__ Units operator()(int /*id*/, float logit) const {
    const float distance = distance_of(logit, best, 1);
    return distance > -INFINITY ? units_of(exp_of_negative(distance)) : 0;
  }
};

/// Counts logits that are numbers above -inf.
struct Counted {
  static constexpr bool kCounts = true;

  __device__ Units operator()(int /*id*/, float logit) const { return logit > -INFINITY ? 1 : 0; }
};

}  // namespace weft::cuda
