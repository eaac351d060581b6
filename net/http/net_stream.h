#pragma once

#include <sys/socket.h>

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
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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
    ++out_->writes;
    return boost::asio::async_compose<Token, void(boost::system::error_code, std::size_t)>(
        WriteInTurn<Buffers>{*this, buffers}, token, socket());
  }
  /// Bytes that the system has taken so far; of TLS those before they were encrypted.
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return out_->sent; }

  /// Lets whole frames go out by send_now(), beside what Beast writes. Only when it is plain.
  void allow_send_now() noexcept { send_now_ = true; }
  /// The next byte on the wire begins a frame, and nobody waits to write.
  [[nodiscard]] bool can_send_now() const noexcept {
    return send_now_ && out_->writes == 0 && out_->rest.empty();
  }
  /// Sends whole frames without waiting and without an operation: most find room. What does not is
  /// kept, and goes out before all else. Only when can_send_now(). False: has_rest(), so that
  /// async_send_rest() is due, or there is an error.
  [[nodiscard]] bool send_now(std::string_view frames, boost::system::error_code& error) {
    const std::size_t sent = send_some(frames, error);
    if (sent == frames.size()) return true;
    out_->rest.assign(frames.substr(sent));
    out_->rest_sent = 0;
    return false;
  }
  /// Completes when all that send_now() kept is out.
  template <class Token>
  auto async_send_rest(Token&& token) {
    return boost::asio::async_compose<Token, void(boost::system::error_code)>(SendRest{*this},
                                                                              token, socket());
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
  /// Who writes. Operations know it weakly: one may complete when the stream is gone. While one is
  /// under way the stream stays where it is.
  struct Out {
    int writes = 0;  // async_write_some() under way
    std::uint64_t sent = 0;
    std::string rest;  // of send_now()'s frames, some of which have gone out
    std::size_t rest_sent = 0;
  };

  /// How much went out; all, or as much as there was room for.
  std::size_t send_some(std::string_view bytes, boost::system::error_code& error) noexcept {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto sent = ::send(socket().native_handle(), bytes.data() + done, bytes.size() - done,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) {
        done += static_cast<std::size_t>(sent);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        error.assign(errno, boost::system::system_category());
      break;
    }
    out_->sent += done;
    return done;
  }
  /// True when nothing is kept any more, or on an error.
  bool send_rest(boost::system::error_code& error) noexcept {
    if (out_->rest.empty()) return true;
    out_->rest_sent += send_some(std::string_view(out_->rest).substr(out_->rest_sent), error);
    if (out_->rest_sent == out_->rest.size()) std::string().swap(out_->rest);  // it may be large
    return error || out_->rest.empty();
  }

  class SendRest {
   public:
    explicit SendRest(NetStream& stream) : stream_(&stream), alive_(stream.out_) {}

    template <class Self>
    void operator()(Self& self, boost::system::error_code error = {}) {
      if (!error && alive_.expired()) error = boost::asio::error::operation_aborted;
      if (error || stream_->send_rest(error)) return self.complete(error);
      stream_->socket().async_wait(Socket::wait_write, std::move(self));
    }

   private:
    NetStream* stream_;
    std::weak_ptr<Out> alive_;
  };

  template <class Buffers>
  class WriteInTurn {
   public:
    WriteInTurn(NetStream& stream, const Buffers& buffers)
        : stream_(&stream), alive_(stream.out_), buffers_(buffers) {}

    template <class Self>
    void operator()(Self& self, boost::system::error_code error = {}, std::size_t bytes = 0) {
      const auto out = alive_.lock();
      if (!out) return self.complete(boost::asio::error::operation_aborted, bytes);
      if (!error && !begun_ && !stream_->send_rest(error)) {
        return stream_->socket().async_wait(Socket::wait_write, std::move(self));
      }
      if (error || begun_) {
        --out->writes;
        out->sent += bytes;
        return self.complete(error, bytes);
      }
      begun_ = true;
      if (auto* tls = stream_->tls()) return tls->async_write_some(buffers_, std::move(self));
      stream_->socket().async_write_some(buffers_, std::move(self));
    }

   private:
    NetStream* stream_;
    std::weak_ptr<Out> alive_;
    Buffers buffers_;
    bool begun_ = false;
  };

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
  std::shared_ptr<Out> out_ = std::make_shared<Out>();
  bool send_now_ = false;
};

}  // namespace weft
