#pragma once

#include <cstdint>
#include <string>

namespace weft::bench {

/// The peer of the service's I/O threads: it sends a WebSocket message over and over on each
/// connection that this process has accepted on `port`, by plain send(), one message on each in
/// turn, as fast as the clients read. Digits behind "sequence_number": count the messages of a
/// connection. Nothing else may write on them meanwhile. Returns how many were sent.
[[nodiscard]] std::int64_t send_raw(std::uint16_t port, int threads, double seconds,
                                    const std::string& message);

}  // namespace weft::bench
