#include "weft/net/http/net_stream.h"

#include <sys/socket.h>

#include <boost/asio/compose.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <cerrno>

#include "weft/net/http/tls_stream.h"

namespace weft {

namespace asio = boost::asio;
using boost::system::error_code;

class NetStream::SendRest {
 public:
  explicit SendRest(NetStream& stream) : stream_(&stream), alive_(stream.out_) {}

  template <class Self>
  void operator()(Self& self, error_code error = {}) {
    if (!error && alive_.expired()) error = asio::error::operation_aborted;
    if (error || stream_->send_rest(error)) return self.complete(error);
    stream_->socket().async_wait(Socket::wait_write, std::move(self));
  }

 private:
  NetStream* stream_;
  std::weak_ptr<Out> alive_;
};

class NetStream::WriteInTurn {
 public:
  WriteInTurn(NetStream& stream, const WriteBuffers& buffers)
      : stream_(&stream), alive_(stream.out_), buffers_(buffers) {}

  template <class Self>
  void operator()(Self& self, error_code error = {}, std::size_t bytes = 0) {
    const auto out = alive_.lock();
    if (!out) return self.complete(asio::error::operation_aborted, bytes);
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
  WriteBuffers buffers_;
  bool begun_ = false;
};

class NetStream::Goodbye {
 public:
  explicit Goodbye(NetStream& stream) : stream_(stream) {}

  template <class Self>
  void operator()(Self& self, error_code error = {}, std::size_t /*bytes*/ = 0) {
    if (auto* tls = stream_.tls(); tls != nullptr && !std::exchange(tls_ended_, true)) {
      // Without a goodbye the client cannot tell an end from a cut (RFC 8446, section 6.1).
      return tls->async_shutdown(std::move(self));
    }
    Socket& socket = stream_.socket();
    if (!std::exchange(ended_, true)) {
      error.clear();       // TLS reports an error when the client still sends
      error_code ignored;  // the read will fail if the socket is gone
      ignored = socket.shutdown(asio::socket_base::shutdown_send, ignored);
    }
    if (!error) return socket.async_read_some(asio::buffer(*unread_), std::move(self));
    if (error == asio::error::eof) error.clear();
    self.complete(error);
  }

 private:
  NetStream& stream_;
  bool tls_ended_ = false;
  bool ended_ = false;
  std::unique_ptr<std::array<char, 4096>> unread_ = std::make_unique<std::array<char, 4096>>();
};

NetStream::NetStream(Socket socket) : stream_(std::move(socket)) {}
NetStream::NetStream(Socket socket, asio::ssl::context& tls)
    : stream_(std::make_unique<TlsStream>(std::move(socket), tls)) {}
NetStream::NetStream(NetStream&& other) noexcept = default;
NetStream& NetStream::operator=(NetStream&& other) noexcept = default;
NetStream::~NetStream() = default;

NetStream::Socket& NetStream::socket() noexcept {
  if (auto* plain = std::get_if<Socket>(&stream_)) return *plain;
  return tls()->next_layer();
}

TlsStream* NetStream::tls() const noexcept {
  const auto* tls = std::get_if<std::unique_ptr<TlsStream>>(&stream_);
  return tls == nullptr ? nullptr : tls->get();
}

void NetStream::close() noexcept {
  error_code ignored;
  ignored = socket().close(ignored);
}

void teardown(boost::beast::role_type role, NetStream& stream, error_code& error) {
  namespace websocket = boost::beast::websocket;
  if (auto* tls = stream.tls()) {
    asio::ssl::stream<NetStream::Socket>& layer = *tls;
    return boost::beast::teardown(role, layer, error);
  }
  websocket::teardown(role, stream.socket(), error);
}

std::size_t NetStream::take_arrived(asio::mutable_buffer into) noexcept {
  if (is_tls()) return 0;
  const ssize_t taken = ::recv(socket().native_handle(), into.data(), into.size(), MSG_DONTWAIT);
  return taken > 0 ? static_cast<std::size_t>(taken) : 0;
}

void NetStream::start_read(const ReadBuffers& buffers, AnyHandler<Transfer> handler) {
  if (auto* secure = tls()) return secure->async_read_some(buffers, std::move(handler));
  socket().async_read_some(buffers, std::move(handler));
}

void NetStream::start_write(const WriteBuffers& buffers, AnyHandler<Transfer> handler) {
  ++out_->writes;
  asio::async_compose<AnyHandler<Transfer>, Transfer>(WriteInTurn(*this, buffers), handler,
                                                      socket());
}

void NetStream::start_rest(AnyHandler<Completion> handler) {
  asio::async_compose<AnyHandler<Completion>, Completion>(SendRest(*this), handler, socket());
}

// NOLINTNEXTLINE(readability-make-member-function-const): it changes what the stream stands on
void NetStream::start_handshake(asio::ssl::stream_base::handshake_type side,
                                AnyHandler<Completion> handler) {
  tls()->async_handshake(side, std::move(handler));
}

void NetStream::start_goodbye(AnyHandler<Completion> handler) {
  asio::async_compose<AnyHandler<Completion>, Completion>(Goodbye(*this), handler, socket());
}

bool NetStream::send_now(std::string_view frames, error_code& error) {
  const std::size_t sent = send_some(frames, error);
  if (sent == frames.size()) return true;
  out_->rest.assign(frames.substr(sent));
  out_->rest_sent = 0;
  return false;
}

std::size_t NetStream::send_some(std::string_view bytes, error_code& error) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto sent = ::send(socket().native_handle(), bytes.data() + done, bytes.size() - done,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      done += static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      error.assign(errno, boost::system::system_category());
    }
    break;
  }
  out_->sent += done;
  return done;
}

bool NetStream::send_rest(error_code& error) noexcept {
  if (out_->rest.empty()) return true;
  out_->rest_sent += send_some(std::string_view(out_->rest).substr(out_->rest_sent), error);
  // frees the memory, which may be large
  if (out_->rest_sent == out_->rest.size()) std::string().swap(out_->rest);
  return error || out_->rest.empty();
}

}  // namespace weft
