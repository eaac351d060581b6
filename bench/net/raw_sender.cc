#include "weft/bench/net/raw_sender.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

bool is_accepted_on(int fd, std::uint16_t port) {
  sockaddr_in local{};
  sockaddr_in peer{};
  socklen_t size = sizeof local;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) != 0) return false;
  if (local.sin_family != AF_INET || ntohs(local.sin_port) != port) return false;
  size = sizeof peer;
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

std::vector<int> accepted_on(std::uint16_t port) {
  std::vector<int> found;
  DIR* const folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (is_accepted_on(fd, port)) found.push_back(fd);
  }
  closedir(folder);
  return found;
}

/// One frame, with its number written in place.
class Frame {
 public:
  explicit Frame(const std::string& message) {
    bytes_ = "\x81";
    if (message.size() < 126) {
      bytes_ += static_cast<char>(message.size());
    } else {
      bytes_ += '\x7e';
      bytes_ += static_cast<char>(message.size() >> 8U);
      bytes_ += static_cast<char>(message.size() & 255U);
    }
    bytes_ += message;
    constexpr std::string_view kName = "\"sequence_number\":";
    number_ = bytes_.find(kName) + kName.size();
    while (bytes_[number_ + digits_] >= '0' && bytes_[number_ + digits_] <= '9') ++digits_;
  }

  std::string_view numbered(std::int64_t number) {
    for (std::size_t i = digits_; i-- > 0; number /= 10) {
      bytes_[number_ + i] = static_cast<char>('0' + number % 10);
    }
    return bytes_;
  }

 private:
  std::string bytes_;
  std::size_t number_ = 0;
  std::size_t digits_ = 0;
};

/// Sends the rest of a frame after a partial send.
void send_rest(int fd, std::string_view rest) {
  while (!rest.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    poll(&ready, 1, -1);
    const auto sent = send(fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::int64_t send_on(const std::vector<int>& sockets, double seconds, Frame frame) {
  std::vector<std::int64_t> numbers(sockets.size(), 0);
  std::int64_t count = 0;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < until) {
    const std::int64_t before = count;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      const std::string_view bytes = frame.numbered(numbers[i]);
      const auto sent = send(sockets[i], bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) continue;  // the client has not read yet
      send_rest(sockets[i], bytes.substr(static_cast<std::size_t>(sent)));
      ++numbers[i];
      ++count;
    }
    if (count == before) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return count;
}

}  // namespace

std::int64_t send_raw(std::uint16_t port, int threads, double seconds, const std::string& message) {
  const std::vector<int> sockets = accepted_on(port);
  std::vector<std::vector<int>> shares(static_cast<std::size_t>(threads));
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    shares[i % shares.size()].push_back(sockets[i]);
  }
  std::atomic<std::int64_t> sent{0};
  {
    std::vector<std::jthread> senders;
    for (const auto& share : shares) {
      senders.emplace_back([&, share] { sent += send_on(share, seconds, Frame(message)); });
    }
  }
  return sent;
}

}  // namespace weft::bench
