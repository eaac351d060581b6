#include "weft/bench/net/stalled_clients.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "weft/bench/net/swarm.h"

namespace weft::bench {
namespace {

std::string post(std::string_view path, std::string_view body, std::size_t length) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" +
         std::string(body);
}

/// Returns the bytes that a client of this kind sends before it falls silent.
std::string words_of(int kind) {
  constexpr std::string_view kBody =
      R"({"prompt":"a","stream":true,"ignore_eos":true,"max_tokens":100000})";
  switch (kind) {
    case 0:
      return "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-";
    case 1:
      return post("/v1/completions", kBody, 100 * kBody.size());
    case 2:
      return {};
    case 3:
      return upgrade_request();
    case 4:
      return post("/v1/completions", kBody, kBody.size());
    default:
      return upgrade_request();  // its message follows the server's answer
  }
}

constexpr int kKinds = 6;

}  // namespace

StalledClients::StalledClients(std::uint16_t port, int clients) {
  constexpr int kReceiveBuffer = 4096;
  for (int i = 0; i < clients; ++i) {
    const int fd = connect_to(port, kReceiveBuffer);
    sockets_.push_back(fd);
    const int kind = i % kKinds;
    send_all(fd, words_of(kind));
    if (kind != kKinds - 1) continue;
    std::array<char, 1024> answer{};
    static_cast<void>(recv(fd, answer.data(), answer.size(), 0) > 0);
    send_all(fd, masked_frame(R"({"type":"response.create","input":"a","ignore_eos":true,)"
                              R"("max_output_tokens":100000})"));
  }
}

StalledClients::~StalledClients() {
  for (const int fd : sockets_) close(fd);
}

}  // namespace weft::bench
