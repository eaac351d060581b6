#pragma once

#include <array>
#include <cstdint>

#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"

/// A GPU's summary of its part of the logits, where ranks divide the vocabulary. weft::tell_part
/// (sampling/part_summary.h) computes the same on the host.
namespace weft::cuda {

/// How many of a part's greatest logits a summary has; kPartCandidates on the host.
inline constexpr std::int32_t kToldTokens = 64;
/// The most ranks whose candidates one block can choose from, since it holds all at once.
inline constexpr std::int32_t kMaxToldRanks = 8;

struct ToldToken {
  float logit = 0;
  TokenId token = kNoToken;
};

/// The summary of one row's part. It is sent between GPUs as raw floats.
struct ToldPart {
  std::uint64_t sum = 0;   ///< the part's weights relative to its best, in units of 2^-40
  std::int32_t count = 0;  ///< how many `tokens` there are; none is -inf or NaN
  std::int32_t unused = 0;
  std::array<ToldToken, kToldTokens> tokens;  ///< the greatest first, ties to the lower id
};

inline constexpr std::int64_t kToldFloats = sizeof(ToldPart) / sizeof(float);
static_assert(sizeof(ToldPart) % sizeof(float) == 0);

/// Summarizes each row of a part.
struct CudaTellParams {
  std::int64_t rows = 0;
  DeviceRows logits{};       ///< f32 [R, tokens of the part]
  TokenId first_token = 0;   ///< the part's first token
  ToldPart* told = nullptr;  ///< [R]
  /// As CudaSampleParams::blocks.
  std::int32_t blocks = 0;
};

[[nodiscard]] Status tell_parts(const CudaTellParams& params, Stream stream);

}  // namespace weft::cuda
