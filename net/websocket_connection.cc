#include "weft/net/websocket_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <string_view>
#include <utility>

#include "weft/net/defaults.h"
#include "weft/net/header_values.h"
#include "weft/net/websocket_handshake.h"

namespace weft {

namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using std::chrono::steady_clock;

WebSocketConnection::WebSocketConnection(IoThread& thread, Service& service, NetStream stream,
                                         ResponseSession::Client client)
    : thread_(thread),
      service_(service),
      socket_(std::move(stream)),
      session_(thread, service, std::move(client), [this] { pump(); }) {}

void WebSocketConnection::start(Request upgrade) {
  thread_.add(shared_from_this());
  const ServerConfig& config = service_.config();
  const std::string request_id = Service::request_id_of(upgrade);
  prepare_handshake(upgrade);
  std::string protocol;
  for (const std::string_view item : list_items(upgrade[http::field::sec_websocket_protocol])) {
    if (item.starts_with(kKeyProtocol)) protocol = std::string(item);  // the client wants an echo
  }
  socket_.set_option(
      websocket::stream_base::decorator([headers = service_.headers_for(upgrade, request_id),
                                         protocol](websocket::response_type& response) {
        for (const auto& [name, value] : headers) response.set(name, value);
        response.set(http::field::server, "weft");  // else Beast names itself and its version
        if (!protocol.empty()) response.set(http::field::sec_websocket_protocol, protocol);
      }));
  socket_.set_option(websocket::stream_base::timeout{
      .handshake_timeout = config.header_timeout,
      .idle_timeout = 2 * config.ping_interval,  // it pings at half of this
      .keep_alive_pings = true});
  websocket::permessage_deflate deflate;
  deflate.server_enable = config.compress_websocket;
  socket_.set_option(deflate);
  socket_.read_message_max(static_cast<std::size_t>(config.max_message_bytes));
  socket_.auto_fragment(false);
  socket_.text(true);
  const auto request = std::make_shared<Request>(std::move(upgrade));
  socket_.async_accept(*request, [self = self(), request](boost::system::error_code error) {
    if (error || self->ended_) return self->end(EndCause::kCancel);
    self->accepted_ = true;
    self->read();
    if (self->thread_.draining()) self->drain();
  });
}

void WebSocketConnection::on_gone(boost::system::error_code error) {
  // The system may be quicker than check_time() to see that nothing is taken.
  end(error == boost::asio::error::timed_out ? EndCause::kSlowReader : EndCause::kCancel);
}

void WebSocketConnection::read() {
  if (reading_ || ended_ || session_.unsent_bytes() > net_defaults::kReadAhead) return;
  reading_ = true;
  socket_.async_read(input_, [self = self()](boost::system::error_code error, std::size_t) {
    self->on_read(error);
  });
}

void WebSocketConnection::on_read(boost::system::error_code error) {
  reading_ = false;
  if (ended_) return;
  if (error) return on_gone(error);
  if (socket_.got_binary()) return say_goodbye(websocket::close_code::unknown_data);
  const auto data = input_.data();
  const std::string_view text(static_cast<const char*>(data.data()), data.size());
  // Beast overlooks a character that is cut off where an empty frame ends the message.
  if (!simdjson::validate_utf8(text)) return say_goodbye(websocket::close_code::bad_payload);
  session_.on_message(text);
  input_.consume(input_.size());
  if (input_.capacity() > net_defaults::kReadAhead) input_.shrink_to_fit();
  if (!writing_) pump();
  read();
}

void WebSocketConnection::pump() {
  if (ended_) return;
  if (writing_) {
    if (session_.too_slow()) end(EndCause::kSlowReader);
    return;
  }
  batch_.clear();
  session_.fetch(batch_);
  message_ = 0;
  if (!batch_.empty()) return write_next();
  read();  // it may have waited for room
  if (thread_.draining() && session_.idle()) say_goodbye(websocket::close_code::going_away);
}

void WebSocketConnection::write_next() {
  writing_ = true;
  progress_ = steady_clock::now();
  const auto ends = batch_.message_ends();
  const std::size_t begin = message_ == 0 ? 0 : ends[message_ - 1];
  const auto message = batch_.bytes().substr(begin, ends[message_] - begin);
  socket_.async_write(
      boost::asio::buffer(message.data(), message.size()),
      [self = self()](boost::system::error_code error, std::size_t) { self->on_written(error); });
}

void WebSocketConnection::on_written(boost::system::error_code error) {
  if (ended_) return;
  if (error) return on_gone(error);
  writing_ = false;
  if (++message_ < batch_.message_ends().size()) return write_next();
  pump();
}

void WebSocketConnection::say_goodbye(websocket::close_code code) {
  if (std::exchange(leaving_, true) || ended_) return;
  progress_ = steady_clock::now();
  socket_.async_close(code,
                      [self = self()](boost::system::error_code) { self->end(EndCause::kCancel); });
}

void WebSocketConnection::end(EndCause cause) {
  if (std::exchange(ended_, true)) return;
  session_.abandon(cause);
  socket_.next_layer().close();
  thread_.remove(*this);
}

void WebSocketConnection::check_time(Time now) {
  const auto waited = now - progress_;
  if (writing_ && waited > service_.config().write_timeout) return end(EndCause::kSlowReader);
  if (accepted_ && !socket_.is_open() && !std::exchange(leaving_, true)) {
    // One side has closed, and a read waits for the client to go.
    progress_ = now;
    return session_.abandon(EndCause::kCancel);
  }
  if (leaving_ && waited > net_defaults::kLinger) end(EndCause::kCancel);
}

void WebSocketConnection::drain() {
  if (session_.idle() && !writing_ && socket_.is_open()) {
    say_goodbye(websocket::close_code::going_away);
  }
}

void WebSocketConnection::abort() { end(EndCause::kShutdown); }

}  // namespace weft
