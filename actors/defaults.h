#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Bounds of the pipeline that no configuration changes, each with its reason and what happens when
/// it is reached.
namespace weft::defaults {

/// Places in every mailbox but the executor's, beside two for each request that may be under way
/// (its arrival and its end). A tick's messages are at most one for each tick there is, and
/// mailboxes keep an eighth and a 64th for each sender aside: so those of scheduler and detokenizer
/// are never full for these. The receiver's is when requests come faster than the application's
/// executor runs; they are refused then.
inline constexpr std::size_t kSpareMessages = 1024;

/// Plans that wait for an executor: one that runs in each stage, one that waits, and those taken
/// back meanwhile. When the mailbox is full, the tick fails its requests.
inline constexpr std::size_t kExecutorMessages = 64;

/// Tokens that a prompt counts at most while its model is not loaded yet, and its context not
/// known: the context of most models. What is longer counts as this, so that it does not keep
/// others from waiting.
inline constexpr std::int64_t kUnknownContext = std::int64_t{32} << 10;

/// A request of so many bytes of text, JSON and schemas goes to the workers for large requests: a
/// tokenizer takes 15 to 37 ns for a byte of usual text, so a worker takes 1 to 2.4 ms for them,
/// and a small prompt is to wait no longer.
inline constexpr std::int64_t kLargePromptBytes = std::int64_t{64} << 10U;
/// So does a conversation of so many messages, however short they are: of 26 public chat templates
/// all but one take 0.3 to 0.7 ms for so many, and that one 9 ms.
inline constexpr std::int64_t kLargePromptMessages = 256;
/// A conversation that may be shortened counts so many times: usually it is encoded so often when
/// it is too long (shortened_conversation.h).
inline constexpr std::int64_t kShorteningRounds = 4;
/// Bytes that preparing a request costs beside those of its prompt: a template, checks.
inline constexpr std::int64_t kPreparedBytes = std::int64_t{4} << 10U;

/// Tokens for one mask token, at most: far more than people look at.
inline constexpr std::int32_t kMaxMaskFills = 1000;
/// Mask tokens of one prompt: for each the executor looks through all logits while all rows wait. A
/// request with more is refused (kBadRequest), as with more of what follows.
inline constexpr std::int64_t kMaxMasks = 32;
/// Tokens in all filled-in copies of one prompt: some 5 MiB of text.
inline constexpr std::int64_t kMaxFilledTokens = std::int64_t{1} << 20;

/// When a refusal for want of room says to try again: what is under way takes at least this long,
/// and those who come later find room.
inline constexpr std::chrono::milliseconds kRetryAfter{1000};

}  // namespace weft::defaults
