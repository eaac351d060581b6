#include "weft/net/client/websocket_client.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/field.hpp>
#include <chrono>
#include <utility>

#include "weft/net/net_error.h"

namespace weft {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

namespace {

/// The largest message: an event holds at most one whole answer.
constexpr std::size_t kLargestMessage = std::size_t{256} << 20;

/// A server that is silent for half of this time is pinged. If it does not answer the ping, the
/// connection ends.
constexpr websocket::stream_base::timeout kTimeout{.handshake_timeout = std::chrono::seconds(15),
                                                   .idle_timeout = std::chrono::seconds(60),
                                                   .keep_alive_pings = true};

}  // namespace

WebSocketClient::WebSocketClient(std::shared_ptr<Connector> connector, std::string path,
                                 Events events)
    : connector_(std::move(connector)), path_(std::move(path)), events_(std::move(events)) {}

void WebSocketClient::start() {
  asio::co_spawn(
      connector_->context(), [self = shared_from_this()] { return self->run(); }, asio::detached);
}

asio::awaitable<void> WebSocketClient::run() {
  const auto self = shared_from_this();  // keeps it alive until the last line
  const auto opened = co_await open();
  if (!opened) co_return end(opened.error());
  if (ended_) co_return;
  open_ = true;
  write_next();
  co_await read_all();
}

asio::awaitable<Result<void>> WebSocketClient::open() {
  auto connected = co_await connector_->connect();
  if (!connected) co_return std::move(connected).error();
  if (ended_) co_return Result<void>();
  socket_.emplace(*std::move(connected));
  socket_->set_option(kTimeout);
  socket_->read_message_max(kLargestMessage);
  socket_->auto_fragment(false);
  socket_->text(true);
  const ClientOptions& options = connector_->options();
  socket_->set_option(
      websocket::stream_base::decorator([&options](websocket::request_type& request) {
        request.set(http::field::user_agent, "weft/" WEFT_VERSION);
        if (options.api_key.empty()) return;
        request.set(http::field::authorization, "Bearer " + options.api_key);
      }));
  websocket::response_type response;
  const auto [error] = co_await socket_->async_handshake(response, options.url.authority(),
                                                         options.url.base + path_, kAsTuple);
  if (error == websocket::error::upgrade_declined) {
    co_return Error{NetErrc::kRefused, options.url.text() + ": " +
                                           std::to_string(response.result_int()) + " " +
                                           std::string(response.reason())};
  }
  if (error) co_return connector_->lost(error.message());
  co_return Result<void>();
}

asio::awaitable<void> WebSocketClient::read_all() {
  while (!ended_) {
    const auto [error, bytes] = co_await socket_->async_read(input_, kAsTuple);
    if (ended_) co_return;
    if (error == websocket::error::closed) {
      const websocket::close_reason& reason = socket_->reason();
      co_return end(connector_->lost("the server has closed the connection"), reason.code);
    }
    if (error) co_return end(connector_->lost(error.message()));
    const auto data = input_.data();
    events_.on_message({static_cast<const char*>(data.data()), data.size()});
    input_.consume(input_.size());
  }
}

void WebSocketClient::send(std::string message) {
  unsent_.push_back(std::move(message));
  if (open_ && !writing_) write_next();
}

void WebSocketClient::write_next() {
  if (unsent_.empty() || ended_) return;
  writing_ = true;
  socket_->async_write(
      asio::buffer(unsent_.front()),
      [self = shared_from_this()](boost::system::error_code error, std::size_t /*bytes*/) {
        self->writing_ = false;
        self->unsent_.pop_front();
        // A failure is left to the reader, which also sees it.
        if (!error) self->write_next();
      });
}

void WebSocketClient::close() {
  if (std::exchange(ended_, true)) return;
  if (socket_) socket_->next_layer().close();
}

void WebSocketClient::end(const Error& error, std::uint16_t code) {
  if (ended_) return;
  close();
  events_.on_end(error, code);
}

}  // namespace weft
