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
    if (auto* tls = std::get_if<Tls>(&stream_)) {
      return tls->async_write_some(buffers, std::forward<Token>(token));
    }
    if (out_) {
      ++out_->writes;
      return boost::asio::async_compose<Token, void(boost::system::error_code, std::size_t)>(
          WriteInTurn<Buffers>{*this, buffers}, token, socket());
    }
    return std::get_if<Socket>(&stream_)->async_write_some(buffers, std::forward<Token>(token));
  }

  /// Lets whole frames go out by send_now(), beside what Beast writes. Only when it is plain; the
  /// stream stays where it is from then on.
  void allow_send_now() { out_ = std::make_shared<Out>(); }
  /// The next byte on the wire begins a frame, and nobody waits to write.
  [[nodiscard]] bool can_send_now() const noexcept {
    return out_ != nullptr && out_->writes == 0 && out_->rest.empty();
  }
  /// Sends whole frames without waiting and without an operation: most find room. What does not is
  /// kept, and goes out before all else. Only when can_send_now(). False: has_rest(), so that
  /// async_send_rest() is due, or there is an error.
  [[nodiscard]] bool send_now(std::string_view frames, boost::system::error_code& error) {
    const std::size_t sent = send_some(frames, error);
    out_->rest.assign(frames.substr(sent));
    return !error && out_->rest.empty();
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
  friend void async_teardown(boost::beast::role_type role, NetStream& stream, Handler&& handler) {
    if (auto* tls = std::get_if<Tls>(&stream.stream_)) {
      return boost::beast::async_teardown(role, *tls, std::forward<Handler>(handler));
    }
    boost::asio::async_compose<std::decay_t<Handler>, void(boost::system::error_code)>(
        Goodbye(stream.socket()), handler, stream.socket());
  }

 private:
  /// Who writes, where frames go out by send_now(). Operations know it weakly: one may complete
  /// when the stream is gone.
  struct Out {
    int writes = 0;    // async_write_some() under way
    std::string rest;  // of frames that have gone out in part
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
    return done;
  }
  /// True when nothing is kept any more, or on an error.
  bool send_rest(boost::system::error_code& error) {
    out_->rest.erase(0, send_some(out_->rest, error));
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
        return self.complete(error, bytes);
      }
      begun_ = true;
      stream_->socket().async_write_some(buffers_, std::move(self));
    }

   private:
    NetStream* stream_;
    std::weak_ptr<Out> alive_;
    Buffers buffers_;
    bool begun_ = false;
  };

  /// Says that nothing more comes, and reads until the client has gone: to close over what it still
  /// sends would take the close frame from under it. Beast's own stops after one read.
  class Goodbye {
   public:
    explicit Goodbye(Socket& socket) : socket_(socket) {
      boost::system::error_code ignored;  // a socket that is gone fails the read
      ignored = socket_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
    }

    template <class Self>
    void operator()(Self& self, boost::system::error_code error = {}, std::size_t /*bytes*/ = 0) {
      if (!error) return socket_.async_read_some(boost::asio::buffer(*unread_), std::move(self));
      if (error == boost::asio::error::eof) error.clear();
      self.complete(error);
    }

   private:
    Socket& socket_;
    std::unique_ptr<std::array<char, 4096>> unread_ = std::make_unique<std::array<char, 4096>>();
  };

  using Tls = boost::asio::ssl::stream<Socket>;
  std::variant<Socket, Tls> stream_;
  std::shared_ptr<Out> out_;  // null: Beast alone writes
};

}  // namespace weft
