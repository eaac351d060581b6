#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of a request's body, beside the bounds of sampling, stop strings and the engine, each
/// with its reason. A body beyond a bound gets 400; the parser's two memory sizes refuse nothing.
namespace weft::defaults {

/// A parser begins with memory for a body of this size, that of a short conversation.
inline constexpr std::size_t kSmallestBody = std::size_t{4} << 10;
/// Memory for larger bodies is freed when they are done: it is 15 times the body, for each
/// connection.
inline constexpr std::size_t kKeptBody = std::size_t{256} << 10;

/// Fields of one object, wherever it stands. Schemas have some hundreds; each is compared with the
/// others, and some are copied.
inline constexpr std::size_t kMaxObjectFields = 4096;
/// Entries of one list, wherever it stands, unless the list has a bound of its own: a context of a
/// million tokens, given as ids.
inline constexpr std::size_t kMaxListEntries = std::size_t{1} << 20;

/// Messages of a conversation, previous responses included: each takes some 300 bytes beside its
/// text, and no context is so long.
inline constexpr std::size_t kMaxMessages = 8192;
/// Parts of one message's content.
inline constexpr std::size_t kMaxContentParts = 1024;

/// Functions that a request may offer, twice what OpenAI's API takes: their text goes into the
/// prompt.
inline constexpr std::size_t kMaxTools = 256;
/// The longest name of a function; OpenAI's API allows 64, MCP servers' prefixed names are longer.
inline constexpr std::size_t kMaxFunctionName = 128;
/// Calls of one message.
inline constexpr std::size_t kMaxCalls = 1024;

/// Outputs of one request over all its prompts (prompts times n, best_of or beams). Each is a
/// sequence that waits for a row; OpenAI's clients send up to 20 prompts at once, evaluations 64 or
/// 128.
inline constexpr std::size_t kMaxSequencesPerBody = 128;

/// Inputs of one call for vectors, as in OpenAI's API. They are computed some hundred at a time.
inline constexpr std::size_t kMaxVectorInputs = 2048;
/// Most fields of a document that it is ranked by; real documents have fewer.
inline constexpr std::size_t kMaxRankFields = 64;
/// Numbers in the vectors of one answer: 16 MiB in memory, and some 50 as text.
inline constexpr std::size_t kMaxVectorNumbers = std::size_t{4} << 20;

/// Bytes of the filled-in texts of one answer, a text for each token of each of its mask tokens,
/// with kMaskFillBytes for each.
inline constexpr std::size_t kMaxFilledBytes = std::size_t{16} << 20;
/// Bytes that a token for a mask token takes beside its filled-in text, in memory and as JSON.
inline constexpr std::size_t kMaskFillBytes = 160;

/// Bytes of a text that is paired with several others, over all its pairs: a cross-encoder's
/// request has a copy in each.
inline constexpr std::size_t kMaxPairedBytes = std::size_t{64} << 20;

/// Logprobs of prompts in one answer over all its choices, a prompt's token with `top` others
/// counting top + 1: 12 MiB in memory, and some 80 as text.
inline constexpr std::size_t kMaxPromptLogprobs = std::size_t{1} << 20;

/// The longest text that may stand for one token: longer ones are tokens of no known vocabulary.
inline constexpr std::size_t kMaxWordBytes = 256;

/// Tokens of a conversation's summary, at most: some pages.
inline constexpr std::int32_t kSummaryTokens = 1024;

/// OpenAI's bounds of metadata.
inline constexpr std::size_t kMaxMetadata = 16;
inline constexpr std::size_t kMaxMetadataKeyBytes = 64;
inline constexpr std::size_t kMaxMetadataValueBytes = 512;

}  // namespace weft::defaults
