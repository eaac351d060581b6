#pragma once

#include <cstddef>
#include <cstdint>

/// Every bound of sampling, each with its reason. A request beyond one of them is refused.
namespace weft::defaults {

/// Sequences that one request may make (n, best_of, num_beams). Each takes a row and pages as a
/// request of its own would, so this bounds how far one request multiplies.
inline constexpr std::int32_t kMaxSequences = 16;

/// Tokens in logit_bias, bad_tokens and allowed_tokens, each. OpenAI's clients send at most 300; a
/// step walks all of them, and 1024 cost less than a hundredth of a pass over the logits.
inline constexpr std::size_t kMaxTokenList = 1024;

/// stop_tokens and DRY's breakers, each: they are looked through for single tokens, one by one.
inline constexpr std::size_t kMaxShortTokenList = 128;

/// OpenAI's limit of top_logprobs.
inline constexpr std::int32_t kMaxUserTopLogprobs = 20;

/// How far back a passage is compared. 50 tokens are a long sentence: a repetition of that length
/// is lost anyway, its penalty having grown at each token before.
inline constexpr std::int32_t kMaxRepeatLength = 50;

/// DRY and FSD look at the latest so many occurrences of a token. With kMaxRepeatLength it bounds
/// a step at 200,000 comparisons, whatever the text: about as much as reading the logits
/// of a large vocabulary.
inline constexpr std::size_t kMaxOccurrences = 4096;

/// Bytes of the text of an exception that a LogitProcessor or an ActivationReader throws: as much
/// as the HTTP service shows of a message. The rest is cut off.
inline constexpr std::size_t kMaxThrownText = 1024;

/// FSD's candidates and its longest n-gram. The paper uses 6 and 3 or less.
inline constexpr std::int32_t kMaxFsdTopK = 32;
inline constexpr std::int32_t kMaxFsdNgram = 8;

}  // namespace weft::defaults
