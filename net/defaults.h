#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Bounds of the server that no configuration changes, each with its reason and what happens when
/// it is reached.
namespace weft::net_defaults {

/// Bytes that are read ahead of the request that is being answered, so that pipelined requests and
/// the client's end are seen. More stays in the socket. Room for the largest header.
inline constexpr std::size_t kReadAhead = std::size_t{64} << 10;

/// The size of a read: a header fits, and an idle connection keeps no more.
inline constexpr std::size_t kReadBytes = 4096;

/// The most bytes that one write hands to the system.
inline constexpr std::size_t kWriteBytes = std::size_t{128} << 10;

/// The largest body or message that is decoded on an I/O thread: the costliest JSON of this size
/// takes some 2 ms, and most requests are smaller. A larger one goes to the body workers, which
/// costs it two changes of thread.
inline constexpr std::size_t kInlineBody = std::size_t{64} << 10;

/// Threads that decode larger bodies. One, since cores are for the model: a large body waits for
/// the large bodies before it, and no other request waits.
inline constexpr std::size_t kBodyThreads = 1;

/// The shortest step of an I/O thread that is counted as a stall, and the shortest that is logged:
/// a client's p99 begins to show a stall of that length.
inline constexpr std::chrono::milliseconds kCountedStall{1};
inline constexpr std::chrono::milliseconds kLoggedStall{50};

/// Addresses without a connection whose requests are remembered, for a second. When more come, the
/// one that left first is forgotten, and may at once send as many requests as a new one. An entry
/// takes some 200 bytes.
inline constexpr std::size_t kMaxLeftAddresses = 16384;

/// A refused request of at most so many tokens, by estimate, costs its key nothing, since it was
/// cheap to decode. A longer one costs all its tokens, at most those of the longest context.
inline constexpr std::int64_t kFreeRefusal = 1024;

/// Texts that wait for the tokenizer of /tokenize and /detokenize. More are 429.
inline constexpr int kTextWork = 64;

/// How often connections check their time limits. The limits are seconds; checking ten thousand
/// connections takes less than a millisecond.
inline constexpr std::chrono::milliseconds kSweep{250};

/// How long a connection that is being closed waits for the client to read the last answer and
/// close its side: closing at once would take the answer from under it (RFC 9112, section 9.6).
inline constexpr std::chrono::seconds kLinger{2};

/// How long a draining server still reads an idle connection: a client that sent a request before
/// it could know of the drain gets a refusal, and not merely a closed connection.
inline constexpr std::chrono::milliseconds kLastCall{100};

/// The same time for a connection that came while the server drains already, and has sent nothing
/// yet: longer than a handshake and a request take around the world.
inline constexpr std::chrono::milliseconds kLateCall{1000};

/// Messages of one stream that wait for the one before them. More are refused with an error event.
inline constexpr std::size_t kWaitingMessages = 16;

/// Bytes of an answer that wait in the system's own buffer to be sent; more bytes wait in the
/// answer, and go out as fewer and larger events. Otherwise a client that stops reading would be
/// noticed only when megabytes have gone into that buffer, an event for each token. There is room
/// for the bytes that a connection of 1 GB/s takes within 30 us.
inline constexpr int kUnsentBytes = 32 << 10;

/// How long accepting pauses when the process has no descriptors left.
inline constexpr std::chrono::milliseconds kAcceptPause{100};

/// Connections that the system may keep for us between two accepts.
inline constexpr int kBacklog = 4096;

/// Bytes of the log that wait for its reader: some ten thousand lines, a second of a busy server's
/// log. More lines are dropped and counted, and a later line says how many.
inline constexpr std::size_t kMaxQueuedLogBytes = std::size_t{1} << 20;

/// How long the program's end waits for the last lines of the log to be read.
inline constexpr std::chrono::milliseconds kLastLogLines{500};

/// The time before a body's rate counts: TCP's slow start, and a client that thinks.
inline constexpr std::chrono::seconds kBodyGrace{5};

}  // namespace weft::net_defaults
