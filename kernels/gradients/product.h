#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/share.h"

namespace weft {

/// A float32 matrix whose number (i, j) is at data[i * row_stride + j * column_stride]: a table, a
/// transposed table, or some rows or columns of one. Borrowed.
struct MatrixView {
  const float* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  [[nodiscard]] MatrixView turned() const noexcept { return {data, column_stride, row_stride}; }
};

/// out[i, j] = (adds ? out[i, j] : 0) + scale * sum over k of a[i, k] * b[k, j].
struct ProductParams {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  MatrixView a{};        ///< [rows, inner]
  MatrixView b{};        ///< [inner, columns]
  float* out = nullptr;  ///< [rows, columns]; overlaps neither a nor b
  std::int64_t out_row_stride = 0;
  float scale = 1;
  bool adds = false;
};

/// The bytes of workspace that one thread needs for any product.
[[nodiscard]] std::size_t product_workspace_bytes() noexcept;

/// The products of a training step: of activations, gradients and low-rank pairs, all in float32.
/// A number of `out` is a sum in one fixed order over k, in blocks of 256, whatever the number of
/// threads. `workspace` belongs to the calling thread and is aligned to a cache line. Allocates
/// nothing. Blocks are packed as in Goto and van de Geijn, "Anatomy of high-performance matrix
/// multiplication" (2008).
void product(const ProductParams& params, Share share, std::span<std::byte> workspace);

}  // namespace weft
