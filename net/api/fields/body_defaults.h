#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of a request's body, each with its reason. Sampling, stop strings and the engine have
/// further bounds. A body beyond a bound gets 400; only the parser's two memory sizes refuse
/// nothing.
namespace weft::defaults {

/// The body size for which a parser has memory from the start: a short conversation.
inline constexpr std::size_t kSmallestBody = std::size_t{4} << 10;
/// The largest body whose memory is kept. More is freed when the body is done, because it takes 15
/// times the body for each connection.
inline constexpr std::size_t kKeptBody = std::size_t{256} << 10;

/// Fields of one object at any depth. Schemas have some hundreds; each is compared with the others,
/// and some are copied.
inline constexpr std::size_t kMaxObjectFields = 4096;
/// Entries of one list at any depth, unless the list has a bound of its own. A context of a million
/// tokens, given as ids, fits.
inline constexpr std::size_t kMaxListEntries = std::size_t{1} << 20;

/// Messages of a conversation, previous responses included: each takes some 300 bytes beside its
/// text, and no context is so long.
inline constexpr std::size_t kMaxMessages = 8192;
/// Parts of one message's content.
inline constexpr std::size_t kMaxContentParts = 1024;

/// Functions that a request may offer, twice as many as OpenAI's API takes: their text goes into
/// the prompt.
inline constexpr std::size_t kMaxTools = 256;
/// The longest name of a function; OpenAI's API allows 64, MCP servers' prefixed names are longer.
inline constexpr std::size_t kMaxFunctionName = 128;
/// Calls of one message.
inline constexpr std::size_t kMaxCalls = 1024;

/// Outputs of one request over all its prompts (prompts times n, best_of or beams). Each is a
/// sequence that waits for a row; OpenAI's clients send up to 20 prompts at once, evaluations 64 or
/// 128.
inline constexpr std::size_t kMaxSequencesPerBody = 128;

/// Inputs of one call for vectors, as in OpenAI's API. Some hundred are computed at a time.
inline constexpr std::size_t kMaxVectorInputs = 2048;
/// The most fields of a document that are used to rank it; real documents have fewer.
inline constexpr std::size_t kMaxRankFields = 64;
/// Numbers in the vectors of one answer: 16 MiB in memory, and some 50 MiB as text.
inline constexpr std::size_t kMaxVectorNumbers = std::size_t{4} << 20;

/// Bytes of all filled-in texts of one answer. A text is filled in for each mask token and each of
/// its candidates, and each counts kMaskFillBytes besides.
inline constexpr std::size_t kMaxFilledBytes = std::size_t{16} << 20;
/// Bytes that a candidate for a mask token takes beside its filled-in text, in memory and as JSON.
inline constexpr std::size_t kMaskFillBytes = 160;

/// Bytes of a text that is paired with several others, summed over its pairs, because a
/// cross-encoder's request has a copy in each pair.
inline constexpr std::size_t kMaxPairedBytes = std::size_t{64} << 20;

/// Logprobs of prompts in one answer over all its choices. A prompt's token with `top` others
/// counts top + 1. The bound is 12 MiB in memory, and some 80 MiB as text.
inline constexpr std::size_t kMaxPromptLogprobs = std::size_t{1} << 20;

/// The longest text that may stand for one token: longer ones are tokens of no known vocabulary.
inline constexpr std::size_t kMaxWordBytes = 256;

/// The most tokens of a conversation's summary: some pages.
inline constexpr std::int32_t kSummaryTokens = 1024;

/// OpenAI's bounds of `metadata`.
inline constexpr std::size_t kMaxMetadata = 16;
inline constexpr std::size_t kMaxMetadataKeyBytes = 64;
inline constexpr std::size_t kMaxMetadataValueBytes = 512;

}  // namespace weft::defaults
