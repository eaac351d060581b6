#pragma once

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::test {

/// One of this process' sockets, which is recognised after its descriptor has been closed and given
/// away.
struct OwnSocket {
  int descriptor = -1;
  std::string name;  ///< "socket:[12345]"

  /// How many bytes it has taken that the other side has not.
  [[nodiscard]] int unsent() const {
    int bytes = 0;
    ::ioctl(descriptor, TIOCOUTQ, &bytes);
    return bytes;
  }
};

/// Calls `each` for every socket until it returns true; returns whether it did.
template <class Each>
bool any_own_socket(Each each) {
  std::error_code gone;  // such as the descriptor of the folder itself
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string name = std::filesystem::read_symlink(entry.path(), gone).string();
    if (name.starts_with("socket:") &&
        each(OwnSocket{std::stoi(entry.path().filename().string()), name})) {
      return true;
    }
  }
  return false;
}

/// Returns the socket whose other end is this port of loopback; descriptor -1 when there is none.
inline OwnSocket own_socket_to(std::uint16_t port) {
  OwnSocket found;
  any_own_socket([&](const OwnSocket& socket) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const bool is_it =
        ::getpeername(socket.descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && ntohs(peer.sin_port) == port;
    if (is_it) found = socket;
    return is_it;
  });
  return found;
}

inline bool is_open(const OwnSocket& wanted) {
  return any_own_socket([&](const OwnSocket& socket) { return socket.name == wanted.name; });
}

}  // namespace weft::test
