#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/core/token.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/sample/tell_part_cuda.h"

namespace weft::cuda {

/// Entries of a slot's list of biases, of bad and of allowed tokens, each; and of stop tokens.
inline constexpr std::int32_t kMaxTokenList = 1024;
inline constexpr std::int32_t kMaxStopList = 256;
inline constexpr std::int32_t kMaxTop = 32;

/// How a slot's tokens are chosen, in the device's memory, with weft::Sampler's steps and order
/// (sampling/sampler.h); the host does the missing steps. weft::SampleParams has a few of the
/// steps: the host's op is a shortcut for requests that want no others.
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
  std::int32_t min_tokens = 0;  ///< before so many tokens of output the stop tokens are masked
  std::int32_t top_count = 0;   ///< most probable tokens to tell, at most kMaxTop
  bool counts = false;          ///< a penalty is on: tokens of the sequence are counted
  bool logprobs = false;        ///< of the chosen token, by the logits before the edits
  /// A beam search: no token is drawn; the top_count best after the edits, with logprobs of those.
  bool beams = false;
  std::int32_t biases = 0;
  std::int32_t bad = 0;
  std::int32_t allowed = 0;  ///< 0: all
  std::int32_t stops = 0;
};

/// The lists of a slot.
struct SampleLists {
  std::array<TokenId, kMaxTokenList> bias_token;
  std::array<float, kMaxTokenList> bias;
  std::array<TokenId, kMaxTokenList> bad;
  std::array<TokenId, kMaxTokenList> allowed;
  std::array<TokenId, kMaxStopList> stops;
};

/// One choice.
struct SampleItem {
  std::int32_t output = 0;  ///< row of the logits; several items may have the same
  std::int32_t slot = 0;
  std::int64_t position = 0;       ///< tokens observed so far: which number of the seed's stream
  std::int32_t output_tokens = 0;  ///< of those, how many are output
  bool skipped = false;            ///< chosen on the host: nothing is done
  std::int32_t mask = -1;          ///< which of the masks it is chosen among; -1: all tokens
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

/// Counts of tokens by slot, [slots, V]: bit 31 = the token occurs where the repetition penalty
/// looks (prompt and output); the other bits: how often it occurs in the output.
struct TokenCounts {
  std::uint32_t* counts = nullptr;
  std::int64_t vocabulary = 0;
};

/// The tokens that some of the items may choose: [masks, ceil(V / 32)], bit i % 32 of word i / 32
/// for token i. Masks are applied before all other edits.
struct TokenMasks {
  const std::uint32_t* bits = nullptr;

  [[nodiscard]] static constexpr std::int64_t words(std::int64_t vocabulary) noexcept {
    return (vocabulary + 31) / 32;
  }
};

/// The parts that other ranks told of their logits, which are not here: [ranks][rank_stride], by
/// output. The chosen tokens are the same as with all logits, if nothing edits these and the choice
/// is the best or one of the top_k, at most kToldTokens. Logprobs differ in the last place.
struct ToldLogits {
  const ToldPart* parts = nullptr;  ///< null: the logits are here
  std::int32_t ranks = 0;           ///< at most kMaxToldRanks
  std::int64_t rank_stride = 0;
};

/// A choice for each item. Nothing is sorted: thresholds are found by radix selection over bits
/// that order as the numbers do, and masses are sums of integers (weights in units of 2^-40), so a
/// choice does not depend on the order of adding. Random numbers come from the same streams as the
/// host's (Philox keyed by seed and position).
struct CudaSampleParams {
  const SampleItem* items = nullptr;
  const std::int32_t* item_count = nullptr;  ///< in the device's memory
  std::int32_t max_items = 0;                ///< bound of *item_count, for the launch
  DeviceRows logits{};  ///< f32 [outputs, V]; not changed, and not read where parts told of them
  ToldLogits told{};
  const SampleSettings* settings = nullptr;  ///< [slots]
  const SampleLists* lists = nullptr;        ///< [slots]
  TokenCounts counts{};
  TokenMasks masks{};
  float* edited = nullptr;          ///< [max_items, V] scratch
  TokenId* last_tokens = nullptr;   ///< [slots], gets the chosen tokens
  SampleChoice* choices = nullptr;  ///< [max_items], in memory of the host that the device writes
  /// Blocks of threads that share a row: 1 or, on sm_90, 8; 0 goes by V. Does not change a choice.
  std::int32_t blocks = 0;
};

[[nodiscard]] Status sample(const CudaSampleParams& params, Stream stream);

/// The tokens of a step: ids[t] = wanted[t], or where that is below 0 the last token of slot -1 -
/// wanted[t] (kNoToken gives 0). Tokens of slots whose settings count are counted, as output where
/// is_output[t] says so; without `counts` none is. Rows with slot_of -1 get id 0 and count
/// nothing.
struct CudaResolveParams {
  std::int64_t rows = 0;
  const TokenId* wanted = nullptr;
  const std::int32_t* slot_of = nullptr;  ///< [T], -1 for rows that are none of the step's
  const std::uint8_t* is_output = nullptr;
  const TokenId* last_tokens = nullptr;
  const SampleSettings* settings = nullptr;
  TokenCounts counts{};
  TokenId* ids = nullptr;
};

[[nodiscard]] Status resolve_tokens(const CudaResolveParams& params, Stream stream);

/// A slot begins: its counts are cleared, then `tokens` counted where its settings say so (the
/// first prompt_tokens as prompt).
struct CudaCountParams {
  std::int32_t slot = 0;
  const TokenId* tokens = nullptr;
  std::int32_t token_count = 0;
  std::int32_t prompt_tokens = 0;
  TokenCounts counts{};
};

[[nodiscard]] Status start_counts(const CudaCountParams& params, Stream stream);

}  // namespace weft::cuda
