#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// Tokens and bytes of one output that a stream counts in one atomic word, so that a reader never
/// sees one without the other. 2^27 tokens are more than any context, and 2^37 bytes a thousand for
/// each of them. A request for more tokens is refused with kBadRequest.
inline constexpr int kStreamTokenBits = 27;
inline constexpr int kStreamTextBits = 64 - kStreamTokenBits;
inline constexpr std::int32_t kMaxStreamTokens = (1 << kStreamTokenBits) - 1;

/// Outputs of one request: what OpenAI's API allows for n. More are refused with kBadRequest,
/// before anything is allocated for them.
inline constexpr std::int32_t kMaxChoices = 128;

/// Tokens of an output for which a stream has room from the start; it grows by doubling after that.
/// Nearly every output of a chat is shorter, and 20 bytes for each keep a full queue of 1,024
/// requests within 20 MiB.
inline constexpr std::size_t kReservedTokens = 1024;

/// Bytes of text for each of those tokens: English has 4 to 5 in today's vocabularies.
inline constexpr std::size_t kReservedBytesPerToken = 6;

/// The first piece of memory of what is kept for each token is at least so long; below it the
/// allocator's own overhead counts.
inline constexpr std::size_t kSmallestChunk = 16;

}  // namespace weft
