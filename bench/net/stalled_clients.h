#pragma once

#include <cstdint>
#include <vector>

namespace weft::bench {

/// Clients that connect, say something or nothing, and then neither read nor write, in equal parts:
/// half a header; half a body; nothing at all; a WebSocket and no message; a stream of events over
/// HTTP or over a WebSocket that is never read. They hang up with this object.
class StalledClients {
 public:
  StalledClients(std::uint16_t port, int clients);
  ~StalledClients();
  StalledClients(const StalledClients&) = delete;
  StalledClients& operator=(const StalledClients&) = delete;

 private:
  std::vector<int> sockets_;
};

}  // namespace weft::bench
