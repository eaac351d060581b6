#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// The type of each buffer of a program on a GPU, by BufferId. A buffer that only products with
/// 16-bit weights read has the weights' type: this halves its bytes in the caches, and tensor cores
/// take 16-bit inputs anyway. Every other buffer, the residual stream first of all, is f32. `codes`
/// says whether the GPU multiplies codes (Properties::multiplies_codes).
[[nodiscard]] std::vector<DType> buffer_types(const Program& program, bool codes);

/// Returns the type in which a GPU holds a checkpoint's numbers: their own type if a kernel reads
/// it.
[[nodiscard]] inline DType device_type(DType dtype) noexcept {
  const bool is_read = is_encoded(dtype) || dtype == DType::kF32 || dtype == DType::kF16;
  return is_read ? dtype : DType::kBF16;
}

/// Returns the one type of a matrix. If its parts have several types, the matrix is bf16 if all
/// parts that are not encoded are bf16, else f32.
[[nodiscard]] DType device_type(const MatrixPlan& plan) noexcept;

/// Returns the runs of encodings in which a GPU holds a matrix. Empty for three kinds of matrices:
/// one plain type, columns in an order of their own (also held in a plain type), and q8_0 alone,
/// which has its own layout.
[[nodiscard]] std::vector<WeightRun> encoded_runs(const MatrixPlan& plan);

/// DeviceRows::stride and DeviceMatrix::stride are multiples of this many elements.
inline constexpr std::int64_t kRowElements = 64;
[[nodiscard]] constexpr std::int64_t rounded_row(std::int64_t elements) noexcept {
  return (elements + kRowElements - 1) / kRowElements * kRowElements;
}

/// Returns the layout of a matrix on a GPU, without its memory. With `codes` the matrix is for
/// products on a GPU that multiplies codes. If that GPU has a kernel for all runs of the matrix,
/// the runs are held as this kernel reads them (EncodedRun::boxed), q8_0 alone too.
[[nodiscard]] DeviceMatrix matrix_of(const MatrixPlan& plan, bool codes = false) noexcept;

}  // namespace weft::cuda
