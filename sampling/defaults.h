#pragma once

#include <cstddef>
#include <cstdint>

/// Every bound of sampling, each with its reason. A request that exceeds a bound is refused.
namespace weft::defaults {

/// The most sequences of one request (n, best_of, num_beams). Each sequence takes a row and pages
/// like a separate request, so this bounds how far one request multiplies.
inline constexpr std::int32_t kMaxSequences = 16;

/// Tokens in logit_bias, bad_tokens and allowed_tokens, each. OpenAI's clients send at most 300; a
/// step walks all of them, and 1024 cost less than a hundredth of a pass over the logits.
inline constexpr std::size_t kMaxTokenList = 1024;

/// Tokens in stop_tokens and in DRY's breakers, each: both lists are searched linearly.
inline constexpr std::size_t kMaxShortTokenList = 128;

/// OpenAI's limit of top_logprobs.
inline constexpr std::int32_t kMaxUserTopLogprobs = 20;

/// The most tokens of a passage that are compared. 50 tokens are a long sentence. The penalty of a
/// repetition grows at each token, so here it is already prohibitive.
inline constexpr std::int32_t kMaxRepeatLength = 50;

/// The most occurrences of a token that DRY and FSD look at, the latest first. With
/// kMaxRepeatLength that bounds a step at 200,000 comparisons, whatever the text: about as much as
/// reading the logits of a large vocabulary.
inline constexpr std::size_t kMaxOccurrences = 4096;

/// Bytes of the text of an exception that a LogitProcessor or an ActivationReader throws: as much
/// as the HTTP service shows of a message. The rest is cut off.
inline constexpr std::size_t kMaxThrownText = 1024;

/// FSD's candidates and its longest n-gram. The paper uses 6 and 3 or less.
inline constexpr std::int32_t kMaxFsdTopK = 32;
inline constexpr std::int32_t kMaxFsdNgram = 8;

}  // namespace weft::defaults
