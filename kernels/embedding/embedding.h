#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"
#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/embedding/embedding_spec.h"
#include "weft/kernels/linear/packed_weight.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// out[t] = scale * table[ids[t]] + positions[position_ids[t] + position_offset] +
/// constant[constant_ids[t]]. A row of the table that another rank holds counts as zeros. If the
/// table is wider than `out`, the op takes its columns from `first_column` on.
struct EmbeddingParams {
  std::span<const TokenId> ids = {};  ///< [T], each in [0, V)
  /// [rows, table_width], row-major as in the checkpoint, any alignment
  const std::byte* table = nullptr;
  /// [rows, H] as packed for the output head that is tied to it, instead of a table. If both are
  /// null, the table's part is zeros (positions alone).
  const PackedWeight* packed = nullptr;
  DType dtype = DType::kF32;     ///< type of the table or the weight: f32, f16, bf16 or an encoding
  std::int64_t vocabulary = 0;   ///< V
  std::int64_t first_row = 0;    ///< the token of the first row held here
  std::int64_t rows = -1;        ///< rows held here; -1: V
  std::int64_t table_width = 0;  ///< numbers in a row of `table`; 0: H
  std::int64_t first_column = 0;  ///< a multiple of the type's block
  EmbeddingSpec spec = {};
  const float* positions = nullptr;                 ///< [P, H], or null
  std::span<const std::int32_t> position_ids = {};  ///< [T] when there are positions
  std::int64_t position_count = 0;                  ///< P
  const float* constant = nullptr;                  ///< [C, H], or null (token types)
  std::span<const std::int32_t> constant_ids = {};  ///< [T], or empty: row 0 for all
  std::int64_t constant_count = 1;                  ///< C
  Rows out = {};                                    ///< [T, H]
};

/// Ids and positions outside their tables are a bug of the caller, since requests are checked on
/// arrival: internal_error.
void embed(const EmbeddingParams& params, Share share);

}  // namespace weft

namespace weft::cuda {

/// As weft::EmbeddingParams. A position below 0 (in a row past the step's tokens) counts as 0.
struct CudaEmbeddingParams {
  std::int64_t rows = 0;
  const TokenId* ids = nullptr;  ///< [T], each in [0, V)
  /// [table_rows, table_width] as in the checkpoint, aligned to 256 bytes; or null
  const std::byte* table = nullptr;
  std::int64_t first_row = 0;     ///< the token of the first row held here
  std::int64_t table_rows = 0;    ///< rows held here; V for a whole table
  std::int64_t table_width = 0;   ///< numbers in a row of the table; 0: H
  std::int64_t first_column = 0;  ///< a multiple of the type's block
  DType dtype = DType::kF32;      ///< f32, f16, bf16, or an encoding in whole blocks
  DTypeBlock block{};             ///< block_of(dtype)
  EmbeddingSpec spec{};
  const float* positions = nullptr;
  const std::int32_t* position_ids = nullptr;
  const float* constant = nullptr;             ///< [C, H], or null
  const std::int32_t* constant_ids = nullptr;  ///< [T] in [0, C), or null: row 0 for all
  DeviceRows out{};                            ///< f32
};

[[nodiscard]] Status embed(const CudaEmbeddingParams& params, Stream stream);

}  // namespace weft::cuda
