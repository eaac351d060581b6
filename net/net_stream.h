#pragma once

#include <array>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft {

/// A connection's bytes: over TCP or a Unix socket, plain or under TLS. A branch at run time, so
/// that HTTP and WebSocket are compiled once. Belongs to one io_context with one thread, which is
/// the connection's strand. An AsyncStream in Beast's sense.
class NetStream {
 public:
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                  boost::asio::io_context::executor_type>;
  using executor_type = Socket::executor_type;

  explicit NetStream(Socket socket) : stream_(std::in_place_type<Socket>, std::move(socket)) {}
  NetStream(Socket socket, boost::asio::ssl::context& tls)
      : stream_(std::in_place_type<Tls>, std::move(socket), tls) {}

  [[nodiscard]] executor_type get_executor() noexcept { return socket().get_executor(); }
  [[nodiscard]] Socket& socket() noexcept {
    if (auto* tls = std::get_if<Tls>(&stream_)) return tls->next_layer();
    return *std::get_if<Socket>(&stream_);
  }
  [[nodiscard]] bool is_tls() const noexcept { return std::holds_alternative<Tls>(stream_); }
  /// Null when it is plain.
  [[nodiscard]] boost::asio::ssl::stream<Socket>* tls() noexcept {
    return std::get_if<Tls>(&stream_);
  }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (auto* tls = std::get_if<Tls>(&stream_)) {
      return tls->async_read_some(buffers, std::forward<Token>(token));
    }
    return std::get_if<Socket>(&stream_)->async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (auto* tls = std::get_if<Tls>(&stream_)) {
      return tls->async_write_some(buffers, std::forward<Token>(token));
    }
    return std::get_if<Socket>(&stream_)->async_write_some(buffers, std::forward<Token>(token));
  }
  /// Of TLS, as a server or client; only when is_tls().
  template <class Token>
  auto async_handshake(boost::asio::ssl::stream_base::handshake_type side, Token&& token) {
    return std::get_if<Tls>(&stream_)->async_handshake(side, std::forward<Token>(token));
  }

  /// Says that nothing more comes, and reads until the client has gone: to close over what it still
  /// sends would take the last words from under it. Beside it a read may be pending, and gets some
  /// of that. Takes as long as the client likes; close() ends it.
  template <class Token>
  auto async_goodbye(Token&& token) {
    return boost::asio::async_compose<Token, void(boost::system::error_code)>(Goodbye(*this), token,
                                                                              socket());
  }

  /// At once, without goodbyes; pending operations complete with an error.
  void close() noexcept {
    boost::system::error_code ignored;
    ignored = socket().close(ignored);
  }

  // What Beast calls when a WebSocket or its timeout ends the connection.
  friend void beast_close_socket(NetStream& stream) { stream.close(); }
  friend void teardown(boost::beast::role_type role, NetStream& stream,
                       boost::system::error_code& error) {
    namespace websocket = boost::beast::websocket;
    if (auto* tls = std::get_if<Tls>(&stream.stream_)) {
      return boost::beast::teardown(role, *tls, error);
    }
    websocket::teardown(role, stream.socket(), error);
  }
  template <class Handler>
  friend void async_teardown(boost::beast::role_type /*role*/, NetStream& stream,
                             Handler&& handler) {
    stream.async_goodbye(std::forward<Handler>(handler));  // Beast's own stops after one read
  }

 private:
  class Goodbye {
   public:
    explicit Goodbye(NetStream& stream) : stream_(stream) {}

    template <class Self>
    void operator()(Self& self, boost::system::error_code error = {}, std::size_t /*bytes*/ = 0) {
      if (auto* tls = stream_.tls(); tls != nullptr && !std::exchange(tls_ended_, true)) {
        // Without it the client cannot tell an end from a cut (RFC 8446, section 6.1).
        return tls->async_shutdown(std::move(self));
      }
      Socket& socket = stream_.socket();
      if (!std::exchange(ended_, true)) {
        error.clear();                      // of TLS, when the client still sends
        boost::system::error_code ignored;  // a socket that is gone fails the read
        ignored = socket.shutdown(boost::asio::socket_base::shutdown_send, ignored);
      }
      if (!error) return socket.async_read_some(boost::asio::buffer(*unread_), std::move(self));
      if (error == boost::asio::error::eof) error.clear();
      self.complete(error);
    }

   private:
    NetStream& stream_;
    bool tls_ended_ = false;
    bool ended_ = false;
    std::unique_ptr<std::array<char, 4096>> unread_ = std::make_unique<std::array<char, 4096>>();
  };

  using Tls = boost::asio::ssl::stream<Socket>;
  std::variant<Socket, Tls> stream_;
};

}  // namespace weft
