#pragma once

#include <cstdint>

#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

enum class NormKind : std::uint8_t {
  kRms,    ///< x / sqrt(mean(x^2) + eps) (Zhang and Sennrich, arXiv 1910.07467)
  kLayer,  ///< (x - mean) / sqrt(var + eps) (Ba et al., arXiv 1607.06450)
};

/// out = scale * (normalized(in) * (weight + weight_offset) + bias) + residual, for each row.
struct NormParams {
  NormKind kind = NormKind::kRms;
  ConstRows in = {};              ///< [T, H]
  const float* weight = nullptr;  ///< [H], null = 1 (then weight_offset does not count)
  const float* bias = nullptr;    ///< [H], null = 0
  float weight_offset = 0;        ///< 1 in families that store weights around zero (Gemma)
  float eps = 0;
  float scale = 1;          ///< of the whole result
  ConstRows residual = {};  ///< [T, H], added to the result when data is not null; may be `out`
  Rows out = {};            ///< [T, H]; may be `in`
};

/// A row's result does not depend on the other rows. Means are taken in float32 over lanes in a
/// fixed order. Nothing is allocated.
void norm(const NormParams& params, Share share);

}  // namespace weft
