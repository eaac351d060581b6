#pragma once

#include <cstddef>

#include "weft/kernels/gradients/product.h"
#include "weft/kernels/share.h"

/// The host's code of the ops of training, compiled for each instruction set.
namespace weft::cpu {

void product(const ProductParams& params, Share share, float* workspace);
[[nodiscard]] float softmax_row(float* row, std::size_t count);

}  // namespace weft::cpu
