#pragma once

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::test {

/// One of this process' sockets, known again after its descriptor has been closed and given away.
struct OwnSocket {
  int descriptor = -1;
  std::string name;  ///< "socket:[12345]"

  /// Bytes that it has taken and the other side has not.
  [[nodiscard]] int unsent() const {
    int bytes = 0;
    ::ioctl(descriptor, TIOCOUTQ, &bytes);
    return bytes;
  }
};

/// Calls `each` for every socket until it says true; whether it did.
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

/// The one whose other end is this port of loopback; none: descriptor -1.
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
