#pragma once

#include <cstdint>
#include <span>

#include "weft/sampling/sampling_params.h"
#include "weft/sampling/token_constraint.h"
#include "weft/sampling/token_history.h"

/// The steps that change logits [V] in place. Tokens are valid ids; a logit of -inf stays so, and
/// NaN stays NaN. Thread-safe; they allocate nothing.
namespace weft::sampling {

/// Adds each bias; a token that is named twice gets both.
void add_logit_bias(std::span<float> logits, std::span<const LogitBias> biases);

/// Masks tokens, so that they are never chosen.
void mask_tokens(std::span<float> logits, std::span<const TokenId> tokens);

/// Masks all tokens but `allowed`. `kept` has room for a number for each of `allowed`.
void mask_all_but(std::span<float> logits, std::span<const TokenId> allowed, std::span<float> kept);

/// The tokens that end an output.
struct EndingTokens {
  std::span<const TokenId> of_model;
  std::span<const TokenId> of_request;
};

/// Masks all tokens but the allowed ones, and leaves tokens that end the output if and only if it
/// may end. `kept` has room for twice the vocabulary: [2 V].
void apply_constraint(std::span<float> logits, const AllowedTokens& allowed,
                      const EndingTokens& ends, std::span<std::uint64_t> kept);

/// As apply_constraint(), but writes a mask: bit i % 32 of word i / 32 for token i of V; the last
/// word's other bits are 0.
void write_constraint(std::span<std::uint32_t> mask, std::size_t vocabulary,
                      const AllowedTokens& allowed, const EndingTokens& ends);

/// Removes tokens from a mask, so that they are never chosen.
void unset_tokens(std::span<std::uint32_t> mask, std::span<const TokenId> tokens);

/// Applies repetition (divides positive logits, multiplies others), then frequency and presence.
/// Time is linear in the number of different tokens of the sequence.
void apply_penalties(std::span<float> logits, const PenaltyParams& params,
                     std::span<const TokenCount> counts);

/// DRY's working memory.
struct DryScratch {
  std::span<std::uint8_t> lengths;  ///< [V], all 0 before and after
  std::span<TokenId> touched;       ///< [defaults::kMaxOccurrences]
};

/// Applies DRY. If a token would repeat several passages, the longest counts. Time is bounded by
/// defaults::kMaxOccurrences * kMaxRepeatLength comparisons, whatever the sequence.
void apply_dry(std::span<float> logits, const DryParams& params, const TokenHistory& history,
               const DryScratch& scratch);

}  // namespace weft::sampling
