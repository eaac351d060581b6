#pragma once

#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/embedding/embedding_spec.h"

namespace weft::cuda {

/// out[t] = scale * table[ids[t]] + positions[position_ids[t] + position_offset] +
/// constant[constant_ids[t]], as weft::EmbeddingParams: a row of the table that is not here counts
/// as zeros, and of wider ones the numbers from `first_column` on are taken. A position below 0 (a
/// row that is none of the step's) counts as 0.
struct CudaEmbeddingParams {
  std::int64_t rows = 0;
  const TokenId* ids = nullptr;  ///< [T], each in [0, V)
  /// [table_rows, table_width] as in the checkpoint, aligned to 256 bytes; or null
  const std::byte* table = nullptr;
  std::int64_t first_row = 0;     ///< the token of the first row that is here
  std::int64_t table_rows = 0;    ///< that are here; V of a whole table
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
