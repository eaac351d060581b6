#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/sample/tell_part_cuda.h"

namespace weft::cuda {

/// The most entries of each of a slot's lists: biases, bad, allowed and stop tokens.
inline constexpr std::int32_t kMaxTokenList = 1024;
inline constexpr std::int32_t kMaxStopList = 256;
inline constexpr std::int32_t kMaxTop = 32;

/// How a slot's tokens are chosen, in the device's memory, with weft::Sampler's steps and order
/// (sampling/sampler.h). The host does the steps that are missing here. weft::SampleParams has
/// only a few of the steps: the host's op is a shortcut for requests without other steps.
struct SampleSettings {
  std::uint64_t seed = 0;
  float temperature = 1;  ///< 0: the best logit, ties to the lower id
  std::int32_t top_k = 0;
  float typical_p = 1;
  float top_p = 1;
  float min_p = 0;
  float repetition = 1;
  float frequency = 0;
  float presence = 0;
  std::int32_t min_tokens = 0;  ///< masks stop tokens until there are this many output tokens
  std::int32_t top_count = 0;   ///< the number of most probable tokens to report, at most kMaxTop
  bool counts = false;          ///< a penalty is on, so tokens of the sequence are counted
  bool logprobs = false;        ///< report the chosen token's logprob, by the logits before edits
  /// A beam search: reports the top_count best after the edits and their logprobs; draws no token.
  bool beams = false;
  std::int32_t biases = 0;
  std::int32_t bad = 0;
  std::int32_t allowed = 0;  ///< 0: all
  std::int32_t stops = 0;
};

/// A slot's lists.
struct SampleLists {
  std::array<TokenId, kMaxTokenList> bias_token;
  std::array<float, kMaxTokenList> bias;
  std::array<TokenId, kMaxTokenList> bad;
  std::array<TokenId, kMaxTokenList> allowed;
  std::array<TokenId, kMaxStopList> stops;
};

/// One choice of a step.
struct SampleItem {
  std::int32_t output = 0;  ///< row of the logits; several items may share one
  std::int32_t slot = 0;
  std::int64_t position = 0;       ///< tokens so far, which is the index in the seed's stream
  std::int32_t output_tokens = 0;  ///< how many of these tokens are output
  bool skipped = false;            ///< the host makes this choice
  std::int32_t mask = -1;          ///< index of the mask of permitted tokens; -1: all tokens
};

struct DeviceTop {
  TokenId token = kNoToken;
  float logprob = 0;
};

/// The result of a choice.
struct SampleChoice {
  TokenId token = kNoToken;
  float logprob = 0;
  std::int32_t top_count = 0;
  std::array<DeviceTop, kMaxTop> top;
};

/// Counts of tokens by slot, [slots, V]. Bit 31 is set if the token occurs in prompt or output,
/// for the repetition penalty. The other bits count its occurrences in the output.
struct TokenCounts {
  std::uint32_t* counts = nullptr;
  std::int64_t vocabulary = 0;
};

/// Masks of permitted tokens: [masks, ceil(V / 32)], bit i % 32 of word i / 32 for token i. Masks
/// are applied before all other edits.
struct TokenMasks {
  const std::uint32_t* bits = nullptr;

  [[nodiscard]] static constexpr std::int64_t words(std::int64_t vocabulary) noexcept {
    return (vocabulary + 31) / 32;
  }
};

/// Summaries of the logits of all ranks: [ranks][rank_stride], by output. The chosen tokens are the
/// same as with all logits if no step edits logits and the choice is the best token or one of top_k
/// <= kToldTokens. Logprobs differ in the last place.
struct ToldLogits {
  const ToldPart* parts = nullptr;  ///< null: all logits are here
  std::int32_t ranks = 0;           ///< at most kMaxToldRanks
  std::int64_t rank_stride = 0;
};

/// Makes a choice for each item, without sorting. Thresholds are found by radix selection over bits
/// that order as the numbers do. Masses are sums of integers (weights in units of 2^-40), so a
/// choice does not depend on the order of additions. Random numbers come from the same streams as
/// on the host (Philox keyed by seed and position).
struct CudaSampleParams {
  const SampleItem* items = nullptr;
  const std::int32_t* item_count = nullptr;  ///< in the device's memory
  std::int32_t max_items = 0;                ///< bound of *item_count, sizes the launch
  DeviceRows logits{};  ///< f32 [outputs, V]; never changed, unused if `told` has parts
  ToldLogits told{};
  const SampleSettings* settings = nullptr;  ///< [slots]
  const SampleLists* lists = nullptr;        ///< [slots]
  TokenCounts counts{};
  TokenMasks masks{};
  float* edited = nullptr;          ///< [max_items, V] scratch
  TokenId* last_tokens = nullptr;   ///< [slots], gets the chosen tokens
  SampleChoice* choices = nullptr;  ///< [max_items], in memory of the host that the device writes
  /// Thread blocks that share a row: 1 or, on sm_90, 8; 0: by V. Choices are the same for any.
  std::int32_t blocks = 0;
};

[[nodiscard]] Status sample(const CudaSampleParams& params, Stream stream);

/// The tokens of a step: ids[t] = wanted[t], or if that is below 0 the last token of slot
/// -1 - wanted[t] (kNoToken becomes 0). Counts the tokens of slots whose settings count, as output
/// if is_output[t]; without `counts` counts none. Rows with slot_of -1 get id 0 and are not
/// counted.
struct CudaResolveParams {
  std::int64_t rows = 0;
  const TokenId* wanted = nullptr;
  const std::int32_t* slot_of = nullptr;  ///< [T], -1 for rows beyond the step's tokens
  const std::uint8_t* is_output = nullptr;
  const TokenId* last_tokens = nullptr;
  const SampleSettings* settings = nullptr;
  TokenCounts counts{};
  TokenId* ids = nullptr;
};

[[nodiscard]] Status resolve_tokens(const CudaResolveParams& params, Stream stream);

/// Begins a slot: clears its counts, then counts `tokens` if its settings count (the first
/// prompt_tokens as prompt).
struct CudaCountParams {
  std::int32_t slot = 0;
  const TokenId* tokens = nullptr;
  std::int32_t token_count = 0;
  std::int32_t prompt_tokens = 0;
  TokenCounts counts{};
};

[[nodiscard]] Status start_counts(const CudaCountParams& params, Stream stream);

}  // namespace weft::cuda
