#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Bounds of the pipeline that are not configurable, each with its reason and what happens when it
/// is reached.
namespace weft::defaults {

/// Places in every mailbox but the executor's, in addition to two for each active request (its
/// arrival and its end). Ticks send at most one message each, and a mailbox reserves an eighth and
/// a 64th for each sender, so the mailboxes of scheduler and detokenizer are never full for ticks.
/// The receiver's mailbox fills when requests arrive faster than the application's executor runs;
/// then requests are refused.
inline constexpr std::size_t kSpareMessages = 1024;

/// Places in an executor's mailbox: a running plan for each stage, a waiting plan, and plans taken
/// back meanwhile. When the mailbox is full, the tick fails its requests.
inline constexpr std::size_t kExecutorMessages = 64;

/// The most tokens that a waiting prompt counts while its model, and so its context, is not loaded
/// yet: the context of most models. A longer prompt counts as this, so that it leaves room for
/// others to wait.
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
/// The cost of preparing a request besides its prompt (template, checks), in bytes of prompt.
inline constexpr std::int64_t kPreparedBytes = std::int64_t{4} << 10U;

/// The most tokens for one mask token: far more than people read.
inline constexpr std::int32_t kMaxMaskFills = 1000;
/// The most mask tokens of one prompt: for each, the executor reads all logits while all rows wait.
/// A request that exceeds this or one of the next two bounds is refused (kBadRequest).
inline constexpr std::int64_t kMaxMasks = 32;
/// Tokens in all filled-in copies of one prompt: some 5 MiB of text.
inline constexpr std::int64_t kMaxFilledTokens = std::int64_t{1} << 20;

/// The retry time of a refusal for lack of room: running requests take at least this long, so later
/// attempts find room.
inline constexpr std::chrono::milliseconds kRetryAfter{1000};

}  // namespace weft::defaults
