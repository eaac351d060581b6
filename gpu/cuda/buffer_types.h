#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// The type of each of a program's buffers on a GPU, by BufferId. What only products with 16-bit
/// weights read is written in the weights' type, which halves what passes through the caches and
/// is what the tensor cores take anyway; all else, the residual stream first of all, is f32.
/// `codes` says whether the GPU multiplies codes (Properties::multiplies_codes).
[[nodiscard]] std::vector<DType> buffer_types(const Program& program, bool codes);

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

/// DeviceRows::stride and DeviceMatrix::stride are multiples of this many elements.
inline constexpr std::int64_t kRowElements = 64;
[[nodiscard]] constexpr std::int64_t rounded_row(std::int64_t elements) noexcept {
  return (elements + kRowElements - 1) / kRowElements * kRowElements;
}

/// The layout of a matrix on a GPU, without its memory. With `codes` the matrix is for products on
/// a GPU that multiplies codes: where that has a kernel for all of its runs, they are held for it
/// (EncodedRun::boxed), q8_0 alone too.
[[nodiscard]] DeviceMatrix matrix_of(const MatrixPlan& plan, bool codes = false) noexcept;

}  // namespace weft::cuda
