#pragma once

#include <vector>

#include "weft/core/dtype.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// The type of each of a program's buffers on a GPU, by BufferId. What only products with 16-bit
/// weights read is written in the weights' type, which halves what passes through the caches and
/// is what the tensor cores take anyway; all else, the residual stream first of all, is f32.
[[nodiscard]] std::vector<DType> buffer_types(const Program& program);

/// The type in which numbers of a checkpoint are held on a GPU: their own where a kernel reads it.
[[nodiscard]] inline DType device_type(DType dtype) noexcept {
  const bool is_read = is_encoded(dtype) || dtype == DType::kF32 || dtype == DType::kF16;
  return is_read ? dtype : DType::kBF16;
}

/// The one type of a matrix. One that is made of several types is f32, or bf16 where that is the
/// type of those that are not encoded.
[[nodiscard]] DType device_type(const MatrixPlan& plan) noexcept;

/// The runs of encodings in which a matrix is held on a GPU; empty where it is held in one plain
/// type, as one whose columns have an order of their own is, or as q8_0 alone, which has a layout
/// of its own.
[[nodiscard]] std::vector<WeightRun> encoded_runs(const MatrixPlan& plan);

/// The type in which a product with such weights takes its input.
[[nodiscard]] constexpr DType input_type(DType weight) noexcept {
  return weight == DType::kF16 || weight == DType::kBF16 ? weight : DType::kF32;
}

}  // namespace weft::cuda
