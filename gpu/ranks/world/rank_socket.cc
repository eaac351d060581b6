#include "weft/gpu/ranks/world/rank_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "weft/gpu/device_error.h"

namespace weft {
namespace {

using Steady = std::chrono::steady_clock;

struct FrameHead {
  std::uint32_t mark = 0;
  RankMessage kind = RankMessage::kBeat;
  std::uint64_t size = 0;
};

// "WFTR" on a machine of this byte order.
constexpr std::uint32_t kMark = 0x52544657;
constexpr std::chrono::milliseconds kBetweenTries{50};

Error lost(const std::string& what) { return {DeviceErrc::kRankLost, what}; }
Error lost_by(const std::string& what, int number) {
  return lost(what + ": " + std::generic_category().message(number));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Looks up "host:port"; an IPv6 address stands in brackets.
Result<Addresses> look_up(const std::string& address, bool listens) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return lost("'" + address + "' has no port");
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = listens ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                  address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return lost("'" + address + "': " + ::gai_strerror(error));
  return Addresses(found, &::freeaddrinfo);
}

int socket_for(const addrinfo& address) {
  return ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
}

void set_flag(int descriptor, int level, int option) {
  const int on = 1;
  ::setsockopt(descriptor, level, option, &on, sizeof(on));
}

int left_until(Steady::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

/// Waits until something can be read.
bool wait_readable(int descriptor, Steady::time_point end) {
  for (;;) {
    pollfd one{descriptor, POLLIN, 0};
    const int ready = ::poll(&one, 1, left_until(end));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Result<void> read_all(int descriptor, std::span<std::byte> bytes, Steady::time_point end) {
  while (!bytes.empty()) {
    if (!wait_readable(descriptor, end)) return lost("it has been silent for too long");
    const ssize_t count = ::recv(descriptor, bytes.data(), bytes.size(), 0);
    if (count == 0) return lost("the connection ended");
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return lost_by("reading", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

RankSocket::~RankSocket() { ::close(descriptor_); }

void RankSocket::shut_down() const noexcept { ::shutdown(descriptor_, SHUT_RDWR); }

Result<void> RankSocket::send(RankMessage kind, std::span<const std::byte> payload) {
  const FrameHead head{kMark, kind, payload.size()};
  std::array<iovec, 2> parts = {iovec{const_cast<FrameHead*>(&head), sizeof(head)},
                                iovec{const_cast<std::byte*>(payload.data()), payload.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const std::lock_guard lock(sending_);
  while (parts.back().iov_len > 0 || parts.front().iov_len > 0) {
    const ssize_t count = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return lost_by("writing", errno);
    auto left = static_cast<std::size_t>(count);
    for (iovec& part : parts) {
      const std::size_t taken = std::min(left, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + taken;
      part.iov_len -= taken;
      left -= taken;
    }
  }
  return {};
}

Result<RankFrame> RankSocket::receive(int milliseconds, std::uint64_t most) {
  const auto end = Steady::now() + std::chrono::milliseconds(milliseconds);
  FrameHead head;
  if (auto read = read_all(descriptor_, std::as_writable_bytes(std::span(&head, 1)), end); !read) {
    return read.error();
  }
  if (head.mark != kMark || head.size > most) return lost("it sent what is no message");
  received_.resize(head.size);
  if (auto read = read_all(descriptor_, received_, end); !read) return read.error();
  return RankFrame{head.kind, received_};
}

Result<int> RankSocket::connect(const std::string& address, int milliseconds) {
  const auto end = Steady::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    const auto found = look_up(address, false);
    int error = 0;
    for (const addrinfo* one = found ? found->get() : nullptr; one != nullptr; one = one->ai_next) {
      const int descriptor = socket_for(*one);
      if (descriptor >= 0 && ::connect(descriptor, one->ai_addr, one->ai_addrlen) == 0) {
        set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY);
        return descriptor;
      }
      error = errno;
      if (descriptor >= 0) ::close(descriptor);
    }
    if (left_until(end) == 0) {
      return found ? lost_by("connecting to " + address, error) : found.error();
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

RankDrum::RankDrum(RankSocket& socket, std::chrono::milliseconds between)
    : thread_([this, &socket, between](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
          static_cast<void>(socket.send(RankMessage::kBeat));  // the reader finds out
          woken_.wait_for(lock, stop, between, [] { return false; });
        }
      }) {}

Result<RankListener> RankListener::open(const std::string& address) {
  const auto found = look_up(address, true);
  if (!found) return found.error();
  int error = 0;
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    const int descriptor = socket_for(*one);
    if (descriptor < 0) continue;
    set_flag(descriptor, SOL_SOCKET, SO_REUSEADDR);
    if (::bind(descriptor, one->ai_addr, one->ai_addrlen) == 0 && ::listen(descriptor, 128) == 0) {
      return RankListener(descriptor);
    }
    error = errno;
    ::close(descriptor);
  }
  return lost_by("listening on " + address, error);
}

RankListener::RankListener(RankListener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

RankListener::~RankListener() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<int> RankListener::accept(int milliseconds) const {
  const auto end = Steady::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    if (!wait_readable(descriptor_, end)) return lost("nobody has connected for too long");
    const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return lost_by("accepting", errno);
    }
    set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY);
    return descriptor;
  }
}

std::uint16_t RankListener::port() const {
  sockaddr_storage place{};
  socklen_t size = sizeof(place);
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&place), &size);
  // The port stands at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&place)->sin_port);
}

}  // namespace weft
