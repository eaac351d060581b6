#pragma once

#include <vector>

#include "weft/core/dtype.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// The type of each of a program's buffers on a GPU, by BufferId. What only products with 16-bit
/// weights read is written in the weights' type, which halves what passes through the caches and
/// is what the tensor cores take anyway; all else, the residual stream first of all, is f32.
[[nodiscard]] std::vector<DType> buffer_types(const Program& program);

/// The type in which a product with such weights takes its input.
[[nodiscard]] constexpr DType input_type(DType weight) noexcept {
  return weight == DType::kF16 || weight == DType::kBF16 ? weight : DType::kF32;
}

}  // namespace weft::cuda
