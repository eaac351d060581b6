#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_spec.h"

/// Cases that the linear op of the host and that of CUDA are both tested with.
namespace weft::test {

/// The steps after a product.
enum class After { kNothing, kBias, kActivation, kEverything, kResidualInPlace };
inline constexpr After kEveryAfter[] = {After::kNothing, After::kBias, After::kActivation,
                                        After::kEverything, After::kResidualInPlace};

inline bool has_bias(After after) { return after == After::kBias || after == After::kEverything; }

inline bool has_residual(After after) {
  return after == After::kEverything || after == After::kResidualInPlace;
}

inline LinearSpec spec_after(After after, bool gated) {
  LinearSpec spec;
  if (gated || after == After::kActivation) spec.activation = Activation::kSilu;
  if (after != After::kEverything) return spec;
  spec.scale = 0.75F;
  if (gated) {
    spec.gate_limit = 0.5F;
    spec.up_offset = 1;
    spec.gate_alpha = 1.702F;
  } else {
    spec.activation = Activation::kGelu;
    spec.soft_cap = 2;
  }
  return spec;
}

/// Numbers of rows around the edges of every tile.
inline constexpr std::int64_t kEveryRowCount[] = {1, 2, 7, 8, 9, 16, 33, 64, 100, 128, 300};

}  // namespace weft::test
