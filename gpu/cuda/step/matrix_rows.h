#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// Writes stored rows [first, first + count) of a matrix as DeviceMatrix has them (of q8_0 the
/// numbers, or with `scales` the scales) to `out`, which they fill. Each is read from the plan's
/// parts and converted to the matrix's type. Thread-safe; rows that meet no part are zeros.
void write_matrix_rows(const MatrixPlan& plan, const DeviceMatrix& matrix, std::int64_t first,
                       std::int64_t count, bool scales, std::span<std::byte> out);

/// Bytes of one stored row.
[[nodiscard]] std::int64_t row_bytes(const DeviceMatrix& matrix, bool scales);

}  // namespace weft::cuda
