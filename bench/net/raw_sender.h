#pragma once

#include <cstdint>
#include <string>

namespace weft::bench {

/// A baseline for the service's I/O threads. It sends a WebSocket message repeatedly on each
/// connection that this process has accepted on `port`, by plain send(), one message on each in
/// turn, as fast as the clients read. The digits after "sequence_number": count the messages of a
/// connection. Nothing else may write to them meanwhile. Returns the number of sent messages.
[[nodiscard]] std::int64_t send_raw(std::uint16_t port, int threads, double seconds,
                                    const std::string& message);

}  // namespace weft::bench
