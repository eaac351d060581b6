#pragma once

#include <array>
#include <cstdint>

#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"

/// A GPU's summary of a part of the logits, where these are cut by vocabulary: what weft::tell_part
/// (sampling/part_summary.h) computes on the host.
namespace weft::cuda {

/// The greatest logits of a part that are told: kPartCandidates of the host.
inline constexpr std::int32_t kToldTokens = 64;
/// Ranks whose candidates one block can choose from: it looks at all of them at once.
inline constexpr std::int32_t kMaxToldRanks = 8;

struct ToldToken {
  float logit = 0;
  TokenId token = kNoToken;
};

/// One row's part. It crosses the link as so many floats, which no one computes with.
struct ToldPart {
  std::uint64_t sum = 0;   ///< of all the part's weights beside its best, in units of 2^-40
  std::int32_t count = 0;  ///< of `tokens`: those above -inf, NaN left out
  std::int32_t unused = 0;
  std::array<ToldToken, kToldTokens> tokens;  ///< the greatest first, ties to the lower id
};

inline constexpr std::int64_t kToldFloats = sizeof(ToldPart) / sizeof(float);
static_assert(sizeof(ToldPart) % sizeof(float) == 0);

/// Summarizes each row of a part.
struct CudaTellParams {
  std::int64_t rows = 0;
  DeviceRows logits{};       ///< f32 [R, tokens of the part]
  TokenId first_token = 0;   ///< of the part
  ToldPart* told = nullptr;  ///< [R]
  /// As of CudaSampleParams.
  std::int32_t blocks = 0;
};

[[nodiscard]] Status tell_parts(const CudaTellParams& params, Stream stream);

}  // namespace weft::cuda
