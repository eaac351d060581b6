#pragma once

#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/embedding/embedding_spec.h"

namespace weft::cuda {

/// out[t] = scale * table[ids[t]] + positions[position_ids[t] + position_offset] + constant, as
/// weft::EmbeddingParams. A position below 0 (a row that is none of the step's) counts as 0.
struct CudaEmbeddingParams {
  std::int64_t rows = 0;
  const TokenId* ids = nullptr;      ///< [T], each in [0, V)
  const std::byte* table = nullptr;  ///< [V, H] as in the checkpoint, aligned to 256 bytes; or null
  DType dtype = DType::kF32;         ///< f32, f16, bf16, q8_0 (whole blocks of 34 bytes)
  EmbeddingSpec spec{};
  const float* positions = nullptr;
  const std::int32_t* position_ids = nullptr;
  const float* constant = nullptr;
  DeviceRows out{};  ///< f32
};

[[nodiscard]] Status embed(const CudaEmbeddingParams& params, Stream stream);

}  // namespace weft::cuda
