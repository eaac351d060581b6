#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>

#include "weft/tests/net/server/leaving_client.h"

namespace weft::test {

/// How far a request has come when its client leaves.
enum class Phase : std::uint8_t {
  kQueued,      ///< another request has the only row
  kTokenizing,  ///< an actor before the tokenizer handles it
  kEnqueueing,  ///< the request is tokenized, and the scheduler handles its message
  kPrefill,     ///< the second of many steps over its prompt waits at the device
  kDecode,      ///< the request has made tokens, and the step for the next token waits at the
                ///< device
  kLastToken,   ///< the step for its last token waits at the device
  kSending,     ///< all output is computed, and stays in the server since no client reads it
};

enum class Leaving : std::uint8_t {
  kFin,             ///< shuts down its sending side, and reads no more
  kRst,             ///< resets the connection
  kWebSocketClose,  ///< a close frame; over HTTP half of a pipelined request, then FIN
  kHalfOpen,        ///< its host vanishes, and no packet says so
  kSlow,            ///< reads nothing
  kDeadline,        ///< the time that it gave the request is over
  kSigterm,         ///< the server goes, and does not wait
  kKilled,          ///< the process is killed
};

/// How the request must end.
enum class Ends : std::uint8_t {
  kGone,      ///< cancelled as client_gone, its connection closed
  kCutOff,    ///< cancelled as client_too_slow, its connection closed
  kDeadline,  ///< answered with deadline_exceeded
  kStopping,  ///< answered with stopping
  kWell,      ///< answered with all that was asked for
};

struct Cell {
  Phase phase;
  Leaving leaving;
  Transport transport;

  /// Which end is expected. Cells that do not end as their way to leave suggests are listed here
  /// alone, each with its reason.
  [[nodiscard]] Ends expected() const {
    // Computed output is not taken back, since its client may still read it.
    const bool computed = phase == Phase::kSending;
    switch (leaving) {
      case Leaving::kDeadline:
        return computed ? Ends::kWell : Ends::kDeadline;
      case Leaving::kSigterm:
        return computed ? Ends::kWell : Ends::kStopping;
      case Leaving::kSlow:
        // A client that has been sent nothing, or little, is not slow. A plain answer is sent when
        // it is complete.
        if (computed) return Ends::kCutOff;
        return phase == Phase::kDecode && transport != Transport::kPlain ? Ends::kCutOff
                                                                         : Ends::kWell;
      default:
        return Ends::kGone;
    }
  }
  /// The actor that has the message sees the end when it has handled it: it is not interrupted.
  /// Connection, key and running answer do not wait for that.
  [[nodiscard]] bool in_an_actors_hands() const {
    return phase == Phase::kTokenizing || phase == Phase::kEnqueueing;
  }
  /// Only the server's own clocks tell that the client is gone.
  [[nodiscard]] bool must_be_found_out() const {
    return leaving == Leaving::kHalfOpen || expected() == Ends::kCutOff;
  }
  /// The client is slow because more and more is made for it.
  [[nodiscard]] bool outruns_client() const {
    return leaving == Leaving::kSlow && phase == Phase::kDecode && expected() == Ends::kCutOff;
  }
};

inline constexpr std::array kPhases{"Queued", "Tokenizing", "Enqueueing", "Prefill",
                                    "Decode", "LastToken",  "Sending"};
inline constexpr std::array kLeavings{"Fin",  "Rst",      "WebSocketClose", "HalfOpen",
                                      "Slow", "Deadline", "Sigterm",        "Killed"};
inline constexpr std::array kTransports{"Sse", "WebSocket", "Plain"};

using CellNumbers = std::tuple<int, int, int>;

inline Cell cell_of(const CellNumbers& numbers) {
  return {static_cast<Phase>(std::get<0>(numbers)), static_cast<Leaving>(std::get<1>(numbers)),
          static_cast<Transport>(std::get<2>(numbers))};
}

inline std::string name_of(const CellNumbers& numbers) {
  return std::string(kPhases.at(static_cast<std::size_t>(std::get<0>(numbers)))) + "_" +
         kLeavings.at(static_cast<std::size_t>(std::get<1>(numbers))) + "_" +
         kTransports.at(static_cast<std::size_t>(std::get<2>(numbers)));
}

}  // namespace weft::test
