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
  kTokenizing,  ///< an actor before the tokenizer has it in its hands
  kEnqueueing,  ///< it is tokenized, and the scheduler has the message in its hands
  kPrefill,     ///< the second of many steps over its prompt stands at the device
  kDecode,      ///< it has made tokens, and the step for the next one stands at the device
  kLastToken,   ///< the step for its last token stands at the device
  kSending,     ///< all is computed, and lies in the server because nobody reads it
};

enum class Leaving : std::uint8_t {
  kFin,             ///< shuts down its sending side, and reads no more
  kRst,             ///< resets the connection
  kWebSocketClose,  ///< a close frame; over HTTP half of a pipelined request, then FIN
  kHalfOpen,        ///< its host vanishes, and no packet says so
  kSlow,            ///< reads nothing
  kDeadline,        ///< the time that it gave the request is over
  kSigterm,         ///< the server is the one who goes, and does not wait
  kKilled,          ///< the process is killed
};

/// What is to become of the request.
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

  /// The one place that says which cells do not end as their way to leave says, and why.
  [[nodiscard]] Ends expected() const {
    // What is computed is not taken back: its client may still read it.
    const bool computed = phase == Phase::kSending;
    switch (leaving) {
      case Leaving::kDeadline:
        return computed ? Ends::kWell : Ends::kDeadline;
      case Leaving::kSigterm:
        return computed ? Ends::kWell : Ends::kStopping;
      case Leaving::kSlow:
        // Who has been sent nothing, or little, is not slow. A plain answer is sent when it is
        // whole.
        if (computed) return Ends::kCutOff;
        return phase == Phase::kDecode && transport != Transport::kPlain ? Ends::kCutOff
                                                                         : Ends::kWell;
      default:
        return Ends::kGone;
    }
  }
  /// The actor that has the message sees the end when it has done what it does: it is not
  /// interrupted. Connection, key and running answer do not wait for that.
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
