#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// A stream counts tokens and bytes of an output in one atomic word, so that a reader sees both at
/// the same moment. 2^27 tokens are more than any context, and 2^37 bytes are a thousand for each
/// token. A request for more tokens is refused with kBadRequest.
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

/// The least length of the first chunk of each array; for smaller chunks the allocator's own
/// overhead would matter.
inline constexpr std::size_t kSmallestChunk = 16;

}  // namespace weft
