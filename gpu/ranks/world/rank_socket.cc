#include "weft/gpu/ranks/world/rank_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
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
constexpr int kLookForStop = 20;  // milliseconds between checks of the stop

Error lost(const std::string& what) { return {DeviceErrc::kRankLost, what}; }
Error lost_by(const std::string& what, int number) {
  return lost(what + ": " + std::generic_category().message(number));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Looks up "host:port"; an IPv6 address is in brackets.
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

/// Returns a connection to that address, or the system's error number, negative.
int connect_to(const addrinfo& address, Steady::time_point end, const std::stop_token& stop) {
  const int descriptor = ::socket(
      address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  if (descriptor < 0) return -errno;
  int error = ::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  // An address without an answer takes minutes to fail.
  while (error == EINPROGRESS && !stop.stop_requested() && left_until(end) > 0) {
    pollfd one{descriptor, POLLOUT, 0};
    if (::poll(&one, 1, kLookForStop) <= 0) continue;
    socklen_t size = sizeof(error);
    ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    ::close(descriptor);
    return -error;
  }
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY);
  return descriptor;
}

/// Bytes that are read at a time.
constexpr std::size_t kReadBytes = std::size_t{64} * 1024;

/// Whether bytes are the beginning of a record of TLS (RFC 8446, section 5.1).
bool is_tls(std::span<const std::byte> bytes) {
  if (bytes.size() < 2 || bytes[1] != std::byte{3}) return false;
  return bytes[0] >= std::byte{20} && bytes[0] <= std::byte{23};
}

/// A fatal alert, protocol_version. It tells a side without TLS that TLS is required.
constexpr std::array kWantsTls = {std::byte{21}, std::byte{3}, std::byte{1}, std::byte{0},
                                  std::byte{2},  std::byte{2}, std::byte{70}};

/// Appends the bytes that can be read at once, and returns their number; 0: none are there yet.
Result<std::size_t> read_into(int descriptor, std::vector<std::byte>& bytes) {
  const std::size_t old = bytes.size();
  bytes.resize(old + kReadBytes);
  ssize_t count = -1;
  do {
    count = ::recv(descriptor, bytes.data() + old, kReadBytes, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  bytes.resize(old + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count > 0) return static_cast<std::size_t>(count);
  if (count == 0) return lost("the connection ended");
  if (error == EAGAIN || error == EWOULDBLOCK) return std::size_t{0};
  return lost_by("reading", error);
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::string host_of(int descriptor, NameOf name) {
  sockaddr_storage place{};
  socklen_t size = sizeof(place);
  std::array<char, NI_MAXHOST> host{};
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  if (name(descriptor, address, &size) != 0) return "";
  if (::getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  const std::string text = host.data();
  return place.ss_family == AF_INET6 ? "[" + text + "]" : text;
}

}  // namespace

RankSocket::~RankSocket() { ::close(descriptor_); }

void RankSocket::shut_down() const noexcept { ::shutdown(descriptor_, SHUT_RDWR); }

std::string RankSocket::own_host() const { return host_of(descriptor_, ::getsockname); }
std::string RankSocket::other_host() const { return host_of(descriptor_, ::getpeername); }

Result<void> RankSocket::encrypt(const RankTls& tls, bool accepted, int milliseconds) {
  const auto end = Steady::now() + std::chrono::milliseconds(milliseconds);
  std::unique_ptr<RankCipher> cipher = tls.cipher(accepted);
  std::vector<std::byte> answer;
  for (bool greeted = false; !greeted;) {
    answer.clear();
    const auto went_on = cipher->greet(wire_, answer);
    auto sent = write_all(answer);
    if (!went_on) return went_on.error();
    if (!sent) return sent;
    greeted = *went_on;
    if (greeted) break;
    wire_.clear();
    if (!wait_readable(descriptor_, end)) return lost("TLS: it has been silent for too long");
    const auto read = read_into(descriptor_, wire_);
    if (!read) {
      return lost("TLS: " + read.error().detail + ": is device.rank_tls_certificate set there?");
    }
    if (wire_.size() > 1 && !is_tls(wire_)) {
      static_cast<void>(write_all(kWantsTls));
      return lost("it speaks no TLS: device.rank_tls_certificate is set here, and not there");
    }
  }
  cipher_ = std::move(cipher);
  binding_ = cipher_->binding();
  wire_.clear();
  // Only this message tells the connecting side whether its certificate was refused.
  if (accepted) return send(RankMessage::kBeat);
  const auto accepting = receive(left_until(end), 0);
  if (!accepting) return accepting.error();
  return {};
}

std::span<const std::byte> RankSocket::binding() const noexcept {
  return cipher_ ? std::span<const std::byte>(binding_) : std::span<const std::byte>();
}

Result<void> RankSocket::write_all(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return lost_by("writing", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::size_t> RankSocket::write_some(std::span<const std::byte> wire) const {
  const ssize_t count = ::send(descriptor_, wire.data(), wire.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
  return lost_by("writing", errno);
}

Result<void> RankSocket::seal(RankMessage kind, std::span<const std::byte> payload,
                              std::vector<std::byte>& wire) {
  const FrameHead head{kMark, kind, payload.size()};
  const auto first = std::as_bytes(std::span(&head, 1));
  if (cipher_) {
    if (auto sealed = cipher_->seal(first, wire); !sealed) return sealed;
    return cipher_->seal(payload, wire);
  }
  wire.insert(wire.end(), first.begin(), first.end());
  wire.insert(wire.end(), payload.begin(), payload.end());
  return {};
}

Result<void> RankSocket::send(RankMessage kind, std::span<const std::byte> payload) {
  const std::lock_guard lock(sending_);
  sealed_.clear();
  if (auto sealed = seal(kind, payload, sealed_); !sealed) return sealed;
  return write_all(sealed_);
}

Result<std::size_t> RankSocket::read_some() {
  unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  if (!cipher_) return read_into(descriptor_, unread_);
  wire_.clear();
  auto read = read_into(descriptor_, wire_);
  if (!read || *read == 0) return read;
  if (auto opened = cipher_->open(wire_, unread_); !opened) return opened.error();
  return read;
}

Result<std::optional<RankFrame>> RankSocket::next_frame(std::uint64_t most) {
  const auto there = std::span<const std::byte>(unread_).subspan(taken_);
  if (!cipher_ && is_tls(there)) {
    return lost("it speaks TLS: device.rank_tls_certificate is set there, and not here");
  }
  FrameHead head;
  if (there.size() < sizeof(head)) return std::optional<RankFrame>();
  std::memcpy(&head, there.data(), sizeof(head));
  if (head.mark != kMark || head.size > most) return lost("it sent what is no message");
  if (there.size() - sizeof(head) < head.size) return std::optional<RankFrame>();
  taken_ += sizeof(head) + head.size;
  return std::optional(RankFrame{head.kind, there.subspan(sizeof(head), head.size)});
}

Result<std::optional<RankFrame>> RankSocket::poll(std::uint64_t most) {
  for (;;) {
    auto frame = next_frame(most);
    if (!frame || *frame) return frame;
    const auto read = read_some();
    if (!read) return read.error();
    if (*read == 0) return std::optional<RankFrame>();
  }
}

Result<RankFrame> RankSocket::receive(int milliseconds, std::uint64_t most) {
  const auto end = Steady::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    const auto frame = poll(most);
    if (!frame) return frame.error();
    if (*frame) return **frame;
    if (!wait_readable(descriptor_, end)) return lost("it has been silent for too long");
  }
}

Result<int> RankSocket::connect(const std::string& address, int milliseconds,
                                const std::stop_token& stop) {
  const auto end = Steady::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    const auto found = look_up(address, false);
    int error = 0;
    for (const addrinfo* one = found ? found->get() : nullptr; one != nullptr; one = one->ai_next) {
      const int descriptor = connect_to(*one, end, stop);
      if (descriptor >= 0) return descriptor;
      error = -descriptor;
    }
    if (stop.stop_requested()) return lost("told to stop while connecting to " + address);
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
          // The reading thread notices a failure.
          static_cast<void>(socket.send(RankMessage::kBeat));
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

Result<std::optional<int>> RankListener::accept(int milliseconds) const {
  const auto end = Steady::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    if (!wait_readable(descriptor_, end)) return std::optional<int>();
    const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return lost_by("accepting", errno);
    }
    set_flag(descriptor, IPPROTO_TCP, TCP_NODELAY);
    return std::optional<int>(descriptor);
  }
}

std::uint16_t RankListener::port() const {
  sockaddr_storage place{};
  socklen_t size = sizeof(place);
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&place), &size);
  // The port has the same position in both address families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&place)->sin_port);
}

std::string RankListener::address() const {
  return host_of(descriptor_, ::getsockname) + ":" + std::to_string(port());
}

}  // namespace weft
