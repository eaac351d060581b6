#include "weft/net/websocket_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "weft/net/defaults.h"
#include "weft/net/header_values.h"

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
  std::string protocol;
  for (const std::string_view item : list_items(upgrade[http::field::sec_websocket_protocol])) {
    if (item.starts_with(kKeyProtocol)) protocol = std::string(item);  // the client wants an echo
  }
  socket_.set_option(
      websocket::stream_base::decorator([headers = service_.headers_for(upgrade, request_id),
                                         protocol](websocket::response_type& response) {
        for (const auto& [name, value] : headers) response.set(name, value);
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
  socket_.control_callback([this](websocket::frame_type kind, std::string_view) {
    if (kind == websocket::frame_type::close) leave();
  });
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
  if (error) return end(EndCause::kCancel);
  if (socket_.got_binary()) return say_goodbye();
  const auto data = input_.data();
  session_.on_message({static_cast<const char*>(data.data()), data.size()});
  input_.consume(input_.size());
  if (input_.capacity() > net_defaults::kReadAhead) input_.shrink_to_fit();
  if (!writing_) pump();
  read();
}

void WebSocketConnection::pump() {
  if (ended_ || leaving_) return;
  if (writing_) {
    if (session_.too_slow()) end(EndCause::kSlowReader);
    return;
  }
  batch_.clear();
  session_.fetch(batch_);
  message_ = 0;
  if (!batch_.empty()) return write_next();
  read();  // it may have waited for room
  if (thread_.draining() && session_.idle()) say_goodbye();
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
  if (error) return end(EndCause::kCancel);
  writing_ = false;
  if (leaving_) return;  // what is left of the batch would only disturb the goodbye
  if (++message_ < batch_.message_ends().size()) return write_next();
  pump();
}

void WebSocketConnection::leave() {
  leaving_ = true;
  progress_ = steady_clock::now();
  session_.abandon(EndCause::kCancel);
}

void WebSocketConnection::say_goodbye() {
  if (leaving_ || ended_) return;
  leave();
  const bool draining = thread_.draining();
  socket_.async_close(
      draining ? websocket::close_code::going_away : websocket::close_code::unknown_data,
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
  // After a breach of the protocol a read waits for the client to go.
  if (accepted_ && !socket_.is_open() && !leaving_) return leave();
  if (leaving_ && waited > net_defaults::kLinger) end(EndCause::kCancel);
}

void WebSocketConnection::drain() {
  if (session_.idle() && !writing_ && socket_.is_open()) say_goodbye();
}

void WebSocketConnection::abort() { end(EndCause::kShutdown); }

}  // namespace weft
