#pragma once

#include <array>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/beast/core/role.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weft {

struct TlsStream;

/// The bytes of a connection: over TCP or a Unix socket, plain or under TLS. It is an AsyncStream
/// in Beast's sense. The kind of stream is chosen at run time, and its code is compiled once, in
/// net_stream.cc. To that end an operation takes its handler as an any_completion_handler and at
/// most kBuffers buffers. Otherwise each of Beast's many operations would compile reads and writes
/// for every kind of stream. Belongs to one io_context with one thread, which is the connection's
/// strand.
class NetStream {
 public:
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                  boost::asio::io_context::executor_type>;
  using executor_type = Socket::executor_type;

  explicit NetStream(Socket socket);
  NetStream(Socket socket, boost::asio::ssl::context& tls);
  NetStream(NetStream&& other) noexcept;
  NetStream& operator=(NetStream&& other) noexcept;
  ~NetStream();

  [[nodiscard]] executor_type get_executor() noexcept { return socket().get_executor(); }
  [[nodiscard]] Socket& socket() noexcept;
  [[nodiscard]] bool is_tls() const noexcept { return tls() != nullptr; }
  /// Returns null when the stream is plain. net/http/tls_stream.h has the type.
  [[nodiscard]] TlsStream* tls() const noexcept;

  /// Each operation transfers bytes of at most the first kBuffers buffers.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, Transfer>(
        [this](auto handler, const ReadBuffers& into) {
          start_read(into, AnyHandler<Transfer>(std::move(handler)));
        },
        token, ReadBuffers(buffers));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, Transfer>(
        [this](auto handler, const WriteBuffers& from) {
          start_write(from, AnyHandler<Transfer>(std::move(handler)));
        },
        token, WriteBuffers(buffers));
  }
  /// Takes bytes that have already arrived, without waiting and without an operation. Returns how
  /// many: 0 when there are none, at the end, after an error, and always under TLS. Not while a
  /// read is pending.
  [[nodiscard]] std::size_t take_arrived(boost::asio::mutable_buffer into) noexcept;
  /// How many bytes the system has taken so far; under TLS the bytes before encryption.
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return out_->sent; }

  /// Allows send_now() to send whole frames, besides Beast's own writes. Only for plain streams.
  void allow_send_now() noexcept { send_now_ = true; }
  /// Whether the next byte on the wire begins a frame, and no write is under way.
  [[nodiscard]] bool can_send_now() const noexcept {
    return send_now_ && out_->writes == 0 && out_->rest.empty();
  }
  /// Sends whole frames without waiting and without an operation, since the socket usually has
  /// room. Bytes without room are kept, and go out before all else. Only when can_send_now().
  /// Returns false when bytes are kept, so that async_send_rest() is due, or when there is an
  /// error.
  [[nodiscard]] bool send_now(std::string_view frames, boost::system::error_code& error);
  /// Completes when all bytes that send_now() kept have gone out.
  template <class Token>
  auto async_send_rest(Token&& token) {
    return boost::asio::async_initiate<Token, Completion>(
        [this](auto handler) { start_rest(AnyHandler<Completion>(std::move(handler))); }, token);
  }

  /// Does TLS's handshake, as a server or client. Only when is_tls().
  template <class Token>
  auto async_handshake(boost::asio::ssl::stream_base::handshake_type side, Token&& token) {
    return boost::asio::async_initiate<Token, Completion>(
        [this, side](auto handler) {
          start_handshake(side, AnyHandler<Completion>(std::move(handler)));
        },
        token);
  }

  /// Ends the sending side, and reads until the client has closed, because closing a socket with
  /// unread bytes could take the last answer from the client. A pending read may get some of these
  /// bytes. The client decides how long it takes; close() ends it.
  template <class Token>
  auto async_goodbye(Token&& token) {
    return boost::asio::async_initiate<Token, Completion>(
        [this](auto handler) { start_goodbye(AnyHandler<Completion>(std::move(handler))); }, token);
  }

  /// Closes at once, without goodbyes; pending operations complete with an error.
  void close() noexcept;

  // Called by Beast when a WebSocket or its timeout ends the connection.
  friend void beast_close_socket(NetStream& stream) { stream.close(); }
  friend void teardown(boost::beast::role_type role, NetStream& stream,
                       boost::system::error_code& error);
  template <class Handler>
  friend void async_teardown(boost::beast::role_type /*role*/, NetStream& stream,
                             Handler&& handler) {
    stream.async_goodbye(std::forward<Handler>(handler));  // Beast's own goodbye stops after one
                                                           // read
  }

 private:
  using Transfer = void(boost::system::error_code, std::size_t);
  using Completion = void(boost::system::error_code);
  template <class Signature>
  using AnyHandler = boost::asio::any_completion_handler<Signature>;

  /// Beast sends a message as a frame's header and a payload, which a ring may split in two.
  static constexpr std::size_t kBuffers = 4;

  /// The first non-empty buffers of any sequence.
  template <class Buffer>
  class BufferList {
   public:
    using value_type = Buffer;
    using const_iterator = const Buffer*;

    template <class Buffers>
    explicit BufferList(const Buffers& buffers) {
      const auto end = boost::asio::buffer_sequence_end(buffers);
      for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end; ++at) {
        const Buffer buffer = *at;
        if (buffer.size() == 0) continue;
        if (size_ == kBuffers) break;
        buffers_[size_++] = buffer;
      }
    }
    [[nodiscard]] const_iterator begin() const noexcept { return buffers_.data(); }
    [[nodiscard]] const_iterator end() const noexcept { return buffers_.data() + size_; }

   private:
    std::array<Buffer, kBuffers> buffers_;
    std::size_t size_ = 0;
  };
  using ReadBuffers = BufferList<boost::asio::mutable_buffer>;
  using WriteBuffers = BufferList<boost::asio::const_buffer>;

  /// The state of writing. Operations hold it weakly, since one may complete when the stream is
  /// gone. While an operation is under way the stream must not move.
  struct Out {
    int writes = 0;  // number of async_write_some() under way
    std::uint64_t sent = 0;
    std::string rest;  // frames of send_now() that have not gone out whole
    std::size_t rest_sent = 0;
  };
  class SendRest;
  class WriteInTurn;
  class Goodbye;

  void start_read(const ReadBuffers& buffers, AnyHandler<Transfer> handler);
  void start_write(const WriteBuffers& buffers, AnyHandler<Transfer> handler);
  void start_rest(AnyHandler<Completion> handler);
  void start_handshake(boost::asio::ssl::stream_base::handshake_type side,
                       AnyHandler<Completion> handler);
  void start_goodbye(AnyHandler<Completion> handler);

  /// Returns how many bytes went out: all, or as many as the socket had room for.
  std::size_t send_some(std::string_view bytes, boost::system::error_code& error) noexcept;
  /// Returns true when nothing is kept any more, or on an error.
  bool send_rest(boost::system::error_code& error) noexcept;

  std::variant<Socket, std::unique_ptr<TlsStream>> stream_;
  std::shared_ptr<Out> out_ = std::make_shared<Out>();
  bool send_now_ = false;
};

}  // namespace weft
