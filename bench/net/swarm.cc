#include "weft/bench/net/swarm.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "weft/bench/net/letters.h"

namespace weft::bench {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;

/// Returns the text between `begin` and the next `end`; empty where there is none.
std::string_view between(std::string_view text, std::string_view begin, char end) {
  const auto from = text.find(begin);
  if (from == std::string_view::npos) return {};
  text.remove_prefix(from + begin.size());
  return text.substr(0, text.find(end));
}

std::int64_t number_in(std::string_view digits) {
  std::int64_t number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

void add(std::atomic<std::int64_t>& count, std::size_t more) {  // only one thread writes
  count.store(count.load(std::memory_order_relaxed) + static_cast<std::int64_t>(more),
              std::memory_order_relaxed);
}

void shake_hands(int fd) {
  send_all(fd, upgrade_request());
  std::string answer;
  while (answer.find("\r\n\r\n") == std::string::npos) {
    std::array<char, 1024> piece{};
    const auto got = recv(fd, piece.data(), piece.size(), 0);
    if (got <= 0) break;
    answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (!answer.starts_with("HTTP/1.1 101")) throw std::runtime_error("no WebSocket: " + answer);
}

}  // namespace

int connect_to(std::uint16_t port, int receive_buffer) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
  if (receive_buffer > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    close(fd);
    throw std::system_error(error, std::generic_category(), "connect");
  }
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::system_error(errno, std::generic_category(), "send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string upgrade_request() {
  return "GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "
         "websocket\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
}

std::string masked_frame(std::string_view text) {
  std::string frame = "\x81";
  if (text.size() < 126) {
    frame += static_cast<char>(0x80U | text.size());
  } else {
    frame += static_cast<char>(0x80U | 126U);
    frame += static_cast<char>(text.size() >> 8U);
    frame += static_cast<char>(text.size() & 255U);
  }
  frame.append(4, '\0');  // a mask that changes nothing
  frame += text;
  return frame;
}

Swarm::Swarm(std::uint16_t port, int clients, int threads) {
  // The buffer is small, so that a server cannot be far ahead of its clients.
  constexpr int kReceiveBuffer = 32 << 10;
  clients_.resize(static_cast<std::size_t>(clients));
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    clients_[i].fd = connect_to(port, kReceiveBuffer);
    clients_[i].seed = i;
    shake_hands(clients_[i].fd);
  }
  for (int i = 0; i < threads; ++i) {
    auto& loop = *loops_.emplace_back(std::make_unique<Loop>());
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &clients_[i]}};
    epoll_ctl(loops_[i % loops_.size()]->epoll, EPOLL_CTL_ADD, clients_[i].fd, &event);
  }
  for (auto& loop : loops_) {
    loop->thread =
        std::jthread([this, &loop = *loop](const std::stop_token& stop) { run(loop, stop); });
  }
}

Swarm::~Swarm() {
  for (auto& loop : loops_) loop->thread.request_stop();
  for (auto& loop : loops_) {
    loop->thread.join();
    close(loop->epoll);
  }
  for (const Client& client : clients_) close(client.fd);
}

void Swarm::ask(int tokens) {
  asked_ = tokens;
  for (const Client& client : clients_) {
    send_all(client.fd,
             masked_frame(R"({"type":"response.create","input":"a","ignore_eos":true,"seed":)" +
                          std::to_string(client.seed) + R"(,"max_output_tokens":)" +
                          std::to_string(tokens) + "}"));
  }
}

std::vector<double> Swarm::take_gaps(bool keep) {
  keep_gaps_ = keep;
  std::vector<double> all;
  for (auto& loop : loops_) {
    const std::scoped_lock lock(loop->mutex);
    all.insert(all.end(), loop->gaps.begin(), loop->gaps.end());
    loop->gaps.clear();
  }
  return all;
}

Swarm::Counts Swarm::counts() const noexcept {
  Counts all;
  for (const auto& loop : loops_) {
    all.frames += loop->frames;
    all.tokens += loop->tokens;
    all.bytes += loop->bytes;
    all.begun += loop->begun;
    all.ended += loop->ended;
    all.wrong += loop->wrong;
  }
  return all;
}

std::string Swarm::complaint() const {
  for (const auto& loop : loops_) {
    const std::scoped_lock lock(loop->mutex);
    if (!loop->complaint.empty()) return loop->complaint;
  }
  return {};
}

std::string Swarm::sample() const {
  const std::scoped_lock lock(loops_.front()->mutex);
  return loops_.front()->sample;
}

void Swarm::run(Loop& loop, const std::stop_token& stop) {
  std::vector<char> buffer(kReadBytes);
  std::array<epoll_event, 256> ready{};
  constexpr int kLookAtStop = 50;  // milliseconds
  while (!stop.stop_requested()) {
    const int count =
        epoll_wait(loop.epoll, ready.data(), static_cast<int>(ready.size()), kLookAtStop);
    const std::scoped_lock lock(loop.mutex);
    for (std::size_t i = 0; std::cmp_less(i, count); ++i) {
      Client& client = *static_cast<Client*>(ready[i].data.ptr);
      const auto got = recv(client.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) {
        hear(loop, client, {buffer.data(), static_cast<std::size_t>(got)});
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        epoll_ctl(loop.epoll, EPOLL_CTL_DEL, client.fd, nullptr);
        complain(loop, client, "the server has gone", {});
      }
    }
  }
}

void Swarm::hear(Loop& loop, Client& client, std::string_view bytes) {
  add(loop.bytes, bytes.size());
  if (client.unread.empty()) {
    client.unread.assign(bytes.substr(take_frames(loop, client, bytes)));
  } else {
    client.unread.append(bytes);
    client.unread.erase(0, take_frames(loop, client, client.unread));
  }
}

std::size_t Swarm::take_frames(Loop& loop, Client& client, std::string_view bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= 2) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    std::size_t head = 2;
    std::size_t length = byte(1);
    if (length >= 126) {
      head = length == 126 ? 4 : 10;
      if (bytes.size() - at < head) break;
      length = 0;
      for (std::size_t i = 2; i < head; ++i) length = length << 8U | byte(i);
    }
    if (bytes.size() - at < head + length) break;
    const std::string_view payload = bytes.substr(at + head, length);
    if (byte(0) == 0x81) {
      on_event(loop, client, payload);
    } else {
      complain(loop, client, "not a text", payload);
    }
    at += head + length;
  }
  return at;
}

void Swarm::on_event(Loop& loop, Client& client, std::string_view event) {
  add(loop.frames, 1);
  const std::int64_t number = number_in(between(event, "\"sequence_number\":", ','));
  if (number == 0) {
    client.number = 0;
    client.tokens = 0;
    client.last = {};
  }
  if (number != client.number++) return complain(loop, client, "not the next event", event);
  if (event.starts_with(R"({"type":"response.output_text.delta")")) {
    return on_delta(loop, client, event);
  }
  if (!event.starts_with(R"({"type":"response.incomplete")")) return;
  if (client.tokens != asked_) return complain(loop, client, "tokens are missing", event);
  add(loop.ended, 1);
}

void Swarm::on_delta(Loop& loop, Client& client, std::string_view event) {
  const std::string_view text = between(event, "\"delta\":\"", '"');
  if (!raw_) {
    if (client.tokens == 0) add(loop.begun, 1);
    for (const char letter : text) {
      if (letter != letter_of(client.seed, static_cast<std::uint64_t>(client.tokens++))) {
        return complain(loop, client, "not the next letter", event);
      }
    }
  }
  add(loop.tokens, text.size());
  if (loop.sample.empty()) loop.sample = event;
  if (!keep_gaps_) return;
  const auto now = Clock::now();
  if (client.last != Clock::time_point{}) {
    loop.gaps.push_back(std::chrono::duration<double>(now - client.last).count());
  }
  client.last = now;
}

void Swarm::complain(Loop& loop, const Client& client, std::string_view what,
                     std::string_view event) {
  add(loop.wrong, 1);
  if (!loop.complaint.empty()) return;
  loop.complaint = "client " + std::to_string(client.seed) + ", event " +
                   std::to_string(client.number) + ": " + std::string(what) + ": " +
                   std::string(event.substr(0, 300));
}

}  // namespace weft::bench
