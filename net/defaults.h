#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Bounds of the server that cannot be configured, each with its reason and what happens when it is
/// reached.
namespace weft::net_defaults {

/// Bytes that are read ahead while a request is answered, so that pipelined requests and the
/// client's end are seen. Further bytes stay in the socket. The largest header fits.
inline constexpr std::size_t kReadAhead = std::size_t{64} << 10;

/// The size of a read. A header fits, and an idle connection keeps no more memory than this.
inline constexpr std::size_t kReadBytes = 4096;

/// The most bytes that one write hands to the system.
inline constexpr std::size_t kWriteBytes = std::size_t{128} << 10;

/// The largest body or message that is decoded on an I/O thread: the costliest JSON of this size
/// takes some 2 ms, and most requests are smaller. A larger one goes to the body workers, which
/// costs it two changes of thread.
inline constexpr std::size_t kInlineBody = std::size_t{64} << 10;

/// Threads that decode larger bodies. There is one, because cores are for the model. A large body
/// waits for the large bodies before it; no other request waits.
inline constexpr std::size_t kBodyThreads = 1;

/// The shortest step of an I/O thread that is counted as a stall, and the shortest that is logged.
/// A stall of the latter length begins to show in a client's p99.
inline constexpr std::chrono::milliseconds kCountedStall{1};
inline constexpr std::chrono::milliseconds kLoggedStall{50};

/// Addresses without a connection whose requests are remembered, for a second. When there are more,
/// the address that left first is forgotten, and may then send as many requests as a new one. An
/// entry takes some 200 bytes.
inline constexpr std::size_t kMaxLeftAddresses = 16384;

/// A refused request of at most this many tokens, by estimate, costs its key nothing, because it
/// was cheap to decode. A longer one costs all its tokens, but no more than the longest context.
inline constexpr std::int64_t kFreeRefusal = 1024;

/// Texts that wait for the tokenizer of /tokenize and /detokenize. Further ones get 429.
inline constexpr int kTextWork = 64;

/// How often connections check their time limits. The limits are some seconds, and checking ten
/// thousand connections takes less than a millisecond.
inline constexpr std::chrono::milliseconds kSweep{250};

/// How long a connection that is being closed waits for the client to read the last answer and
/// close its side. Closing at once could discard the answer before it is read (RFC 9112, section
/// 9.6).
inline constexpr std::chrono::seconds kLinger{2};

/// How long a draining server still reads an idle connection. A client that sent a request before
/// it could know of the drain thus gets a refusal, and not just a closed connection.
inline constexpr std::chrono::milliseconds kLastCall{100};

/// How long a draining server reads a connection that was opened meanwhile, and has sent nothing
/// yet. It is longer than a handshake and a request take around the world.
inline constexpr std::chrono::milliseconds kLateCall{1000};

/// Messages of one stream that wait for the previous message. Further ones are refused with an
/// error event.
inline constexpr std::size_t kWaitingMessages = 16;

/// Bytes of an answer that wait in the system's own buffer to be sent. Further bytes wait in the
/// answer, and go out as fewer and larger events. Otherwise a client that stops reading would be
/// noticed only when megabytes have gone into that buffer, in an event for each token. A connection
/// of 1 GB/s takes this many bytes within 30 us.
inline constexpr int kUnsentBytes = 32 << 10;

/// How long accepting pauses when the process has no descriptors left.
inline constexpr std::chrono::milliseconds kAcceptPause{100};

/// Connections that the system may hold for the server between two accepts.
inline constexpr int kBacklog = 4096;

/// Bytes of the log that wait for its reader: some ten thousand lines, a second of a busy server's
/// log. Further lines are dropped and counted, and a later line says how many.
inline constexpr std::size_t kMaxQueuedLogBytes = std::size_t{1} << 20;

/// How long the program waits at its end for a reader to take the log's last lines.
inline constexpr std::chrono::milliseconds kLastLogLines{500};

/// The time before a body's rate is checked, because TCP starts slowly and a client may pause.
inline constexpr std::chrono::seconds kBodyGrace{5};

}  // namespace weft::net_defaults
