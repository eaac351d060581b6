#pragma once

#include <poll.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// The kind of a WebSocket's frame.
enum class Opcode : std::uint8_t { kText = 1, kClose = 8, kPing = 9 };

/// A client that sends exactly the given bytes over TCP.
class PlainClient {
 public:
  explicit PlainClient(std::uint16_t port, int receive_buffer = 0) : socket_(io_) {
    socket_.open(boost::asio::ip::tcp::v4());
    if (receive_buffer > 0) {
      socket_.set_option(boost::asio::socket_base::receive_buffer_size(receive_buffer));
    }
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port});
  }

  void say(std::string_view text) {
    boost::system::error_code ignored;  // the server may have hung up
    boost::asio::write(socket_, boost::asio::buffer(text.data(), text.size()), ignored);
  }
  /// Sends a request with a body of JSON.
  void post(std::string_view path, std::string_view body, std::string_view headers = {}) {
    say("POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n" + std::string(headers) + "\r\n" + std::string(body));
  }
  void get(std::string_view path, std::string_view headers = {}) {
    say("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
        "\r\n");
  }

  /// Asks for a WebSocket; returns the server's answer.
  std::string ask_to_upgrade(std::string_view headers = {}) {
    get("/v1/responses",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" +
            std::string(headers));
    return read_until("\r\n\r\n");
  }
  /// Sends a frame of a WebSocket, masked, as a client's must be, with zeros.
  void say_frame(Opcode opcode, std::string_view payload) {
    std::string frame(1, static_cast<char>(0x80U | static_cast<unsigned>(opcode)));
    if (payload.size() < 126) {
      frame += static_cast<char>(0x80U | payload.size());
    } else {
      const unsigned bytes = payload.size() <= 0xFFFFU ? 2 : 8;  // bytes of the length
      frame += bytes == 2 ? '\xFE' : '\xFF';
      for (unsigned i = bytes; i-- > 0;) frame += static_cast<char>(payload.size() >> 8U * i);
    }
    frame.append(4, '\0');
    say(frame.append(payload));
  }

  /// Reads up to and including `what`; less when the server ends.
  std::string read_until(std::string_view what) {
    while (true) {
      const auto found = heard_.find(what);
      if (found != std::string::npos) return take(found + what.size());
      if (!hear()) return take(heard_.size());
    }
  }
  std::string read_to_end() {
    while (hear()) {
    }
    return take(heard_.size());
  }
  /// Reads head and body of one answer that states its length.
  std::string read_answer() {
    std::string head = read_until("\r\n\r\n");
    const auto place = head.find("Content-Length: ");
    if (place == std::string::npos) return head;
    const auto length = std::stoul(head.substr(place + 16));
    while (heard_.size() < length && hear()) {
    }
    return head + take(length);
  }

  [[nodiscard]] std::uint16_t local_port() const { return socket_.local_endpoint().port(); }
  [[nodiscard]] int descriptor() { return socket_.native_handle(); }

  void shut_down_sending() { socket_.shutdown(boost::asio::socket_base::shutdown_send); }
  void close() { socket_.close(); }
  void reset() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    socket_.close();
  }

 private:
  /// Returns false at the end, and when nothing comes for so long that a test has failed.
  bool hear() {
    constexpr int kPatienceMs = 30'000;
    pollfd wanted{.fd = socket_.native_handle(), .events = POLLIN, .revents = 0};
    if (::poll(&wanted, 1, kPatienceMs) != 1) return false;
    std::vector<char> piece(16384);
    boost::system::error_code error;
    const auto bytes = socket_.read_some(boost::asio::buffer(piece), error);
    heard_.append(piece.data(), bytes);
    return !error;
  }
  std::string take(std::size_t bytes) {
    bytes = std::min(bytes, heard_.size());
    std::string taken = heard_.substr(0, bytes);
    heard_.erase(0, bytes);
    return taken;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  std::string heard_;
};

}  // namespace weft::test
