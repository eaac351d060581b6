#include "weft/net/server/websocket_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/defaults.h"
#include "weft/net/http/header_values.h"
#include "weft/net/http/websocket_handshake.h"
#include "weft/net/server/stream_ping.h"

namespace weft {

namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using std::chrono::steady_clock;

namespace {

// The reasons for closing, which clients see in their logs (RFC 6455, section 7.1.6).
constexpr std::string_view kGoingAway = "the server is going down";
constexpr std::string_view kOnlyTexts = "messages are JSON in text frames";
constexpr std::string_view kNoMemory = "too many large messages arrive at once; try again later";
constexpr std::string_view kNotUtf8 = "a message is not UTF-8";
constexpr std::string_view kServerFailed = "the server failed";

constexpr char kTextFrame = '\x81';
constexpr char kCloseFrame = '\x88';
constexpr char kPingFrame = '\x89';

/// Appends a whole message in one frame of a server (RFC 6455, section 5.2); `first` is its first
/// byte.
void append_frame(char first, std::string_view message, std::string& out) {
  const std::size_t size = message.size();
  const auto byte = [size](unsigned place) { return static_cast<char>(size >> 8U * place); };
  out.push_back(first);
  if (size < 126) {
    out.push_back(byte(0));
  } else if (size < 1U << 16U) {
    out.append({126, byte(1), byte(0)});
  } else {
    out.push_back(127);
    for (unsigned place = 8; place-- > 0;) out.push_back(byte(place));
  }
  out.append(message);
}

}  // namespace

WebSocketConnection::WebSocketConnection(IoThread& thread, Service& service, NetStream stream,
                                         ResponseSession::Client client,
                                         ConnectionCount::Place place)
    : Connection(std::move(place), &thread.stalls()),
      thread_(thread),
      service_(service),
      socket_(std::move(stream)),
      session_(thread, service, std::move(client), [this] { guarded([this] { pump(); }); }),
      body_memory_(service.body_memory()) {}

void WebSocketConnection::start(Request upgrade) {
  thread_.add(shared_from_this());
  guarded([&] { accept(std::move(upgrade)); });
}

void WebSocketConnection::accept(Request upgrade) {
  const ServerConfig& config = service_.config();
  const std::string request_id = Service::request_id_of(upgrade);
  prepare_handshake(upgrade);
  std::string protocol;
  for (const std::string_view item : list_items(upgrade[http::field::sec_websocket_protocol])) {
    // the client requires an echo of its protocol
    if (item.starts_with(kKeyProtocol)) protocol = std::string(item);
  }
  socket_.set_option(
      websocket::stream_base::decorator([headers = service_.headers_for(upgrade, request_id),
                                         protocol](websocket::response_type& response) {
        for (const auto& [name, value] : headers) response.set(name, value);
        response.set(http::field::server, "weft");  // otherwise Beast names itself and its version
        if (!protocol.empty()) response.set(http::field::sec_websocket_protocol, protocol);
      }));
  socket_.set_option(websocket::stream_base::timeout{
      .handshake_timeout = config.header_timeout,
      .idle_timeout = 2 * config.ping_interval,  // Beast pings after half of this time
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
  if (!config.compress_websocket && !socket_.next_layer().is_tls()) {
    socket_.next_layer().allow_send_now();
  }
  const auto request = std::make_shared<Request>(std::move(upgrade));
  socket_.async_accept(*request, [self = self(), request](boost::system::error_code error) {
    if (error || self->ended_) return self->end(EndCause::kCancel);
    self->accepted_ = true;
    self->guarded([&] {
      self->read();
      if (self->thread_.draining()) self->drain();
    });
  });
}

void WebSocketConnection::read() {
  if (reading_ || ended_ || session_.unsent_bytes() > net_defaults::kReadAhead) return;
  if (session_.is_opening()) return;  // a large message is being read, and the next messages wait
  reading_ = true;
  // Reads a message in parts, to count its bytes as they come. 0 means as many as there are.
  socket_.async_read_some(input_, 0,
                          [self = self()](boost::system::error_code error, std::size_t bytes) {
                            self->guarded([&] { self->on_read(error, bytes); });
                          });
}

void WebSocketConnection::on_read(boost::system::error_code error, std::size_t bytes) {
  reading_ = false;
  if (ended_) return;
  if (error) return end(EndCause::kCancel);
  if (socket_.got_binary()) return say_goodbye(websocket::close_code::unknown_data, kOnlyTexts);
  if (!body_memory_.grow(bytes)) {
    return say_goodbye(websocket::close_code::try_again_later, kNoMemory);
  }
  if (!socket_.is_message_done()) return read();
  const auto data = input_.data();
  const std::string_view text(static_cast<const char*>(data.data()), data.size());
  // Beast misses an incomplete character when an empty frame ends the message.
  if (!simdjson::validate_utf8(text)) {
    return say_goodbye(websocket::close_code::bad_payload, kNotUtf8);
  }
  if (session_.idle()) quiet_since_ = steady_clock::now();
  if (text.size() > net_defaults::kInlineBody) {
    session_.on_large_message(text, std::move(body_memory_));
  } else {
    session_.on_message(text);
  }
  input_.consume(input_.size());
  if (input_.capacity() > net_defaults::kReadAhead) input_.shrink_to_fit();
  body_memory_.clear();
  if (!writing_) pump();
  read();
}

void WebSocketConnection::pump() {
  if (ended_ || leaving_) return;
  if (writing_) {
    if (!session_.too_slow()) return;
    service_.slow_readers().count_one_that_left_too_much();
    return end(EndCause::kSlowReader);
  }
  // Shared by the connections of a thread, so that an idle connection needs no memory for it.
  thread_local EventBatch batch(Framing::kWebSocket);
  while (!writing_ && !ended_ && !leaving_) {
    batch.clear();
    session_.fetch(batch);
    if (batch.empty()) break;
    if (socket_.is_open() && socket_.next_layer().can_send_now()) {
      send_now(batch);
    } else {
      message_ = 0;
      std::swap(batch_, batch);
      write_next();
    }
  }
  if (writing_ || ended_) return;
  read();  // reading may have waited for room
  if (thread_.draining() && session_.idle()) {
    say_goodbye(websocket::close_code::going_away, kGoingAway);
  }
}

void WebSocketConnection::send_now(const EventBatch& batch) {
  thread_local std::string frames;
  frames.clear();
  std::size_t begin = 0;
  for (const std::size_t end : batch.message_ends()) {
    append_frame(kTextFrame, batch.bytes().substr(begin, end - begin), frames);
    begin = end;
  }
  send_frames(frames);
}

void WebSocketConnection::send_frames(std::string_view frames) {
  boost::system::error_code error;
  if (socket_.next_layer().send_now(frames, error)) return;
  writing_ = true;
  progress_ = steady_clock::now();
  const auto done = [self = self()](boost::system::error_code failed) {
    self->guarded([&] { self->on_sent(failed); });
  };
  if (!error) return socket_.next_layer().async_send_rest(done);
  // posted, not called directly
  boost::asio::post(socket_.get_executor(), [done, error] { done(error); });
}

void WebSocketConnection::ping_if_quiet(Time now) {
  const auto interval = service_.config().stream_ping_interval;
  if (!ping_is_due(interval, quiet_since_, now, writing_ || pinging_) || session_.idle()) return;
  if (!accepted_ || leaving_ || !socket_.is_open()) return;
  quiet_since_ = now;
  if (socket_.next_layer().can_send_now()) {
    std::string frame;
    append_frame(kPingFrame, {}, frame);
    return send_frames(frame);
  }
  pinging_ = true;
  socket_.async_ping({}, [self = self()](boost::system::error_code error) {
    self->pinging_ = false;
    if (error) self->end(EndCause::kCancel);
  });
}

void WebSocketConnection::on_sent(boost::system::error_code error) {
  if (ended_) return;
  if (error) return end(EndCause::kCancel);
  writing_ = false;
  pump();
}

void WebSocketConnection::write_next() {
  writing_ = true;
  progress_ = steady_clock::now();
  const auto ends = batch_.message_ends();
  const std::size_t begin = message_ == 0 ? 0 : ends[message_ - 1];
  const auto message = batch_.bytes().substr(begin, ends[message_] - begin);
  socket_.async_write(boost::asio::buffer(message.data(), message.size()),
                      [self = self()](boost::system::error_code error, std::size_t) {
                        self->guarded([&] { self->on_written(error); });
                      });
}

void WebSocketConnection::on_written(boost::system::error_code error) {
  if (ended_) return;
  if (error) return end(EndCause::kCancel);
  if (leaving_) {  // the rest of the batch would only delay the close frame
    writing_ = false;
    return;
  }
  if (++message_ < batch_.message_ends().size()) return write_next();
  batch_ = EventBatch(Framing::kWebSocket);
  on_sent({});
}

void WebSocketConnection::leave() {
  leaving_ = true;
  progress_ = steady_clock::now();
  session_.abandon(EndCause::kCancel);
}

void WebSocketConnection::say_goodbye(websocket::close_code code, std::string_view reason) {
  if (leaving_ || ended_) return;
  leave();
  socket_.async_close(websocket::close_reason(code, reason),
                      [self = self()](boost::system::error_code) { self->end(EndCause::kCancel); });
}

void WebSocketConnection::hang_up(websocket::close_code code, std::string_view reason,
                                  EndCause cause) {
  if (accepted_ && !leaving_ && !ended_ && socket_.is_open() &&
      socket_.next_layer().can_send_now()) {
    std::string payload{static_cast<char>(code >> 8U), static_cast<char>(code & 0xFFU)};
    std::string frame;
    append_frame(kCloseFrame, payload.append(reason), frame);
    boost::system::error_code ignored;
    static_cast<void>(socket_.next_layer().send_now(frame, ignored));
  }
  end(cause);
}

void WebSocketConnection::end(EndCause cause) {
  if (std::exchange(ended_, true)) return;
  session_.abandon(cause);
  socket_.next_layer().close();
  thread_.remove(*this);
}

void WebSocketConnection::check_time(Time now) {
  const std::uint64_t sent = socket_.next_layer().sent_bytes();
  if (std::exchange(sent_bytes_, sent) != sent) {
    quiet_since_ = now;
    if (!leaving_) progress_ = now;
  }
  const auto waited = now - progress_;
  if (writing_ && waited > service_.config().write_timeout) {
    service_.slow_readers().count_one_that_took_nothing();
    return end(EndCause::kSlowReader);
  }
  // After a breach of the protocol, a read waits for the client to close.
  if (accepted_ && !socket_.is_open() && !leaving_) return leave();
  if (leaving_ && waited > net_defaults::kLinger) return end(EndCause::kCancel);
  ping_if_quiet(now);
}

void WebSocketConnection::drain() {
  if (session_.idle() && !writing_ && socket_.is_open()) {
    say_goodbye(websocket::close_code::going_away, kGoingAway);
  }
}

void WebSocketConnection::abort() {
  hang_up(websocket::close_code::going_away, kGoingAway, EndCause::kShutdown);
}

void WebSocketConnection::on_exception(const std::exception& failure) noexcept {
  service_.log().failure("a WebSocket had to be ended", failure);
  try {
    hang_up(websocket::close_code::internal_error, kServerFailed, EndCause::kCancel);
  } catch (const std::exception&) {
    end(EndCause::kCancel);  // there may be no memory for a close frame
  }
}

}  // namespace weft
