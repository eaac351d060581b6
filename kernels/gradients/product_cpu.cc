#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/gradients/gradient_cpu.h"
#include "weft/kernels/gradients/product_plan.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/gradients/product_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/simd_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using Plan = ProductPlan;

/// A part of an operand: some rows of a, or some columns of b, over a range of the inner dimension.
struct Piece {
  const float* data = nullptr;
  std::int64_t lines = 0;  ///< rows of a, or columns of b
  std::int64_t line_stride = 0;
  std::int64_t inner = 0;
  std::int64_t inner_stride = 0;
};

/// Packs lines in runs of `run`: [lines / run][inner][run], with zeros after the last line.
void pack(const Piece& piece, std::int64_t run, float* HWY_RESTRICT to) {
  for (std::int64_t first = 0; first < piece.lines; first += run) {
    const std::int64_t lines = std::min(run, piece.lines - first);
    const float* from = piece.data + first * piece.line_stride;
    for (std::int64_t k = 0; k < piece.inner; ++k, to += run) {
      const float* number = from + k * piece.inner_stride;
      if (piece.line_stride == 1) {
        std::copy_n(number, lines, to);
      } else {
        for (std::int64_t i = 0; i < lines; ++i) to[i] = number[i * piece.line_stride];
      }
      for (std::int64_t i = lines; i < run; ++i) to[i] = 0;
    }
  }
}

/// The sums of kRunRows packed rows with two packed vectors of columns.
HWY_INLINE void multiply_run(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                             std::int64_t inner, float* HWY_RESTRICT sums) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVec low[Plan::kRunRows];
  FloatVec high[Plan::kRunRows];
  for (std::int64_t i = 0; i < Plan::kRunRows; ++i) low[i] = high[i] = hn::Zero(d);
  for (std::int64_t k = 0; k < inner; ++k, a += Plan::kRunRows, b += 2 * lanes) {
    const FloatVec first = hn::LoadU(d, b);
    const FloatVec second = hn::LoadU(d, b + lanes);
    for (std::int64_t i = 0; i < Plan::kRunRows; ++i) {
      const FloatVec number = hn::Set(d, a[i]);
      low[i] = hn::MulAdd(number, first, low[i]);
      high[i] = hn::MulAdd(number, second, high[i]);
    }
  }
  for (std::int64_t i = 0; i < Plan::kRunRows; ++i, sums += 2 * lanes) {
    hn::StoreU(low[i], d, sums);
    hn::StoreU(high[i], d, sums + lanes);
  }
}

struct Tile {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

void put(const ProductParams& params, const Tile& tile, const float* HWY_RESTRICT sums,
         std::int64_t run, bool adds) {
  for (std::int64_t i = 0; i < tile.rows; ++i, sums += run) {
    float* HWY_RESTRICT out = params.out + (tile.row + i) * params.out_row_stride + tile.column;
    if (adds) {
      for (std::int64_t j = 0; j < tile.columns; ++j) out[j] += params.scale * sums[j];
    } else {
      for (std::int64_t j = 0; j < tile.columns; ++j) out[j] = params.scale * sums[j];
    }
  }
}

void multiply_tile(const ProductParams& params, const Tile& tile, float* workspace) {
  const auto run = static_cast<std::int64_t>(2 * hn::Lanes(FloatTag()));
  HWY_ALIGN float sums[Plan::kRunRows * 2 * hn::MaxLanes(FloatTag())];
  float* const rows = workspace;
  float* const columns = workspace + Plan::kTileRows * Plan::kInner;
  const MatrixView& a = params.a;
  const MatrixView& b = params.b;
  for (std::int64_t k = 0; k < std::max<std::int64_t>(params.inner, 1); k += Plan::kInner) {
    const std::int64_t inner = std::min(Plan::kInner, params.inner - k);
    pack({a.data + tile.row * a.row_stride + k * a.column_stride, tile.rows, a.row_stride, inner,
          a.column_stride},
         Plan::kRunRows, rows);
    pack({b.data + tile.column * b.column_stride + k * b.row_stride, tile.columns, b.column_stride,
          inner, b.row_stride},
         run, columns);
    for (std::int64_t j = 0; j < tile.columns; j += run) {
      for (std::int64_t i = 0; i < tile.rows; i += Plan::kRunRows) {
        multiply_run(rows + i * inner, columns + j * inner, inner, sums);
        put(params,
            {tile.row + i, std::min(Plan::kRunRows, tile.rows - i), tile.column + j,
             std::min(run, tile.columns - j)},
            sums, run, params.adds || k > 0);
      }
    }
  }
}

void product_of(const ProductParams& params, Share share, float* workspace) {
  const std::int64_t across = (params.columns + Plan::kTileColumns - 1) / Plan::kTileColumns;
  const std::int64_t down = (params.rows + Plan::kTileRows - 1) / Plan::kTileRows;
  const auto [begin, end] = share.of(across * down);
  for (std::int64_t at = begin; at < end; ++at) {
    const std::int64_t row = at / across * Plan::kTileRows;
    const std::int64_t column = at % across * Plan::kTileColumns;
    multiply_tile(params,
                  {row, std::min(Plan::kTileRows, params.rows - row), column,
                   std::min(Plan::kTileColumns, params.columns - column)},
                  workspace);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(product_of);

void cpu::product(const ProductParams& params, Share share, float* workspace) {
  HWY_DYNAMIC_DISPATCH(product_of)(params, share, workspace);
}

}  // namespace weft
#endif  // HWY_ONCE
