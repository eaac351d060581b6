#include "weft/net/server/http_connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <utility>

#include "weft/net/http/header_values.h"
#include "weft/net/server/stream_ping.h"
#include "weft/net/server/websocket_connection.h"

namespace weft {

namespace http = boost::beast::http;
using std::chrono::steady_clock;

namespace {

ApiError request_timeout() {
  return {.status = 408,
          .type = "timeout_error",
          .code = "request_timeout",
          .message = "the request did not arrive in time"};
}

}  // namespace

HttpConnection::HttpConnection(IoThread& thread, Service& service, NetStream&& stream,
                               std::string client, ConnectionCount::Place place,
                               std::shared_ptr<AddressPlace> address)
    : Connection(std::move(place), &thread.stalls()),
      thread_(thread),
      service_(service),
      stream_(std::move(stream)),
      client_(std::move(client)),
      address_(std::move(address)),
      reader_(service.config(), service.body_memory()) {}

void HttpConnection::start() {
  if (thread_.draining()) last_call_ = net_defaults::kLateCall;
  thread_.add(shared_from_this());
  guarded([this] { begin(); });
}

void HttpConnection::begin() {
  if (!stream_.is_tls()) {
    enter(State::kIdle);
    return read();
  }
  enter(State::kHandshake);
  stream_.async_handshake(boost::asio::ssl::stream_base::server,
                          [self = self()](boost::system::error_code error) {
                            if (error || self->state_ == State::kClosed) return self->close();
                            self->enter(State::kIdle);
                            self->guarded([&] { self->read(); });
                          });
}

void HttpConnection::enter(State state) {
  state_ = state;
  state_began_ = steady_clock::now();
}

void HttpConnection::read() {
  if (reading_ || state_ == State::kClosed) return;
  const std::size_t room = reader_.room();
  if (room == 0) return;  // reading resumes when a request has been taken out
  reading_ = true;
  stream_.async_read_some(boost::asio::buffer(arriving_, room),
                          [self = self()](boost::system::error_code error, std::size_t bytes) {
                            self->guarded([&] { self->on_read(error, bytes); });
                          });
}

void HttpConnection::on_read(boost::system::error_code error, std::size_t bytes) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) {
    // Bytes that the client sends now come too late. But only this read, not the goodbye's, has
    // seen the client's end.
    if (error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated) {
      close();
    }
    return;
  }
  if (error) return on_gone();
  reader_.put(boost::asio::buffer(arriving_, bytes));
  if (state_ == State::kAnswering) return read();
  if (bytes == arriving_.size()) take_arrived();
  advance();
}

void HttpConnection::take_arrived() {
  // A body of megabytes would take an operation for each 4 KB.
  thread_local std::array<char, net_defaults::kReadAhead> more;
  const std::size_t bytes = stream_.take_arrived(boost::asio::buffer(more, reader_.room()));
  reader_.put(boost::asio::buffer(more, bytes));
}

void HttpConnection::advance() {
  if (state_ == State::kIdle && !reader_.empty()) enter(State::kReading);
  switch (reader_.next()) {
    case RequestReader::Found::kNothing:
      return read();
    case RequestReader::Found::kHeader:
      if (begin_exchange()) advance();
      return;
    case RequestReader::Found::kRequest:
      return dispatch();
    case RequestReader::Found::kError:
      return refuse(reader_.error());
  }
}

bool HttpConnection::begin_exchange() {
  const RequestReader::Header& header = reader_.header();
  exchange_.emplace(service_, client_, header, reader_.keep_alive());
  if (const auto error = reader_.header_error()) {
    refuse(*error);
    return false;
  }
  const bool body_waits =
      reader_.wants_body() && boost::beast::iequals(header[http::field::expect], "100-continue");
  if (!exchange_->admit(header, address_.get())) {
    if (reader_.wants_short_body() && !body_waits)
      return true;  // the refusal waits until the body
                    // is read
    HttpReply refusal = exchange_->take_refusal();
    // The unread body would be read as the next request.
    refusal.close = reader_.wants_body();
    reply(std::move(refusal));
    return false;
  }
  if (body_waits) {
    output_.next() = "HTTP/1.1 100 Continue\r\n\r\n";
    write();
  }
  return true;
}

void HttpConnection::dispatch() {
  auto [request, until_decoded] = reader_.take();
  enter(State::kAnswering);
  RouteResult result = exchange_->handle(request, until_decoded);
  if (std::holds_alternative<Upgrade>(result)) return upgrade(std::move(request));
  if (auto* call = std::get_if<ApiCall>(&result)) {
    start(std::move(*call));
  } else if (auto* later = std::get_if<LaterReply>(&result)) {
    start_later(*later);
  } else {
    reply(std::move(std::get<HttpReply>(result)));
  }
  read();  // so that the end of the client is noticed
}

void HttpConnection::start(ApiCall call) {
  if (!call.reply_now.empty()) {
    return reply(exchange_->start_in_background(std::move(call), thread_));
  }
  const auto refused = exchange_->start(std::move(call), thread_, *this);
  if (refused) reply(error_reply(*refused));
}

void HttpConnection::upgrade(RequestReader::Request request) {
  // A client must wait for the answer before it sends frames (RFC 6455, section 4.1). A read
  // outstanding from an earlier request would take the first frame.
  if (!reader_.empty() || reading_ || output_.sending() || exchange_->is_http10()) {
    return refuse(not_an_http_request());
  }
  const auto timeout = timeout_of(request);
  if (!timeout) return reply(error_reply(timeout.error()));
  const auto socket = std::make_shared<WebSocketConnection>(
      thread_, service_, std::move(stream_),
      ResponseSession::Client{
          .key = exchange_->key(), .address = client_, .place = address_, .timeout = *timeout},
      take_place());
  enter(State::kClosed);
  thread_.remove(*this);
  socket->start(std::move(request));
}

void HttpConnection::start_later(const LaterReply& later) {
  // When the client or the connection ends meanwhile, the reply is dropped.
  later([weak = std::weak_ptr<Connection>(shared_from_this()), which = exchanges_,
         executor = stream_.get_executor()](LaterResult made) {
    boost::asio::post(executor, [weak, which, made = std::move(made)]() mutable {
      const auto self = std::static_pointer_cast<HttpConnection>(weak.lock());
      if (!self || self->state_ != State::kAnswering || self->exchanges_ != which) return;
      self->guarded([&] {
        if (auto* call = std::get_if<ApiCall>(&made)) return self->start(std::move(*call));
        self->reply(std::move(std::get<HttpReply>(made)));
      });
    });
  });
}

void HttpConnection::reply(HttpReply made) {
  enter(State::kAnswering);
  exchange_->append_reply(std::move(made), output_.next());
  write();
}

void HttpConnection::refuse(const ApiError& why) {
  if (!exchange_) exchange_.emplace(service_, client_, reader_.lost_target(), reader_.began());
  HttpReply refusal = error_reply(why);
  refusal.close = true;
  reply(std::move(refusal));
}

void HttpConnection::on_news(Answer& /*answer*/) {
  guarded([this] { take_news(); });
}

void HttpConnection::take_news() {
  if (!output_.sending()) return fetch_news();
  if (!exchange_->leaves_too_much_unread()) return;
  service_.slow_readers().count_one_that_left_too_much();
  hang_up_on_slow_client();
}

void HttpConnection::fetch_news() {
  exchange_->append_news(output_.next());
  if (!output_.next().empty()) write();
}

void HttpConnection::ping_if_quiet(Time now) {
  const Time quiet_since = std::max(state_began_, output_.progress());
  const auto interval = service_.config().stream_ping_interval;
  if (!ping_is_due(interval, quiet_since, now, output_.sending()) || !exchange_->started()) return;
  exchange_->append_ping(output_.next());
  if (!output_.next().empty()) write();
}

void HttpConnection::write() {
  if (output_.sending() || state_ == State::kClosed) return;
  output_.begin();
  write_some();
}

void HttpConnection::write_some() {
  // A write of megabytes would hold up the thread's other connections.
  const std::string_view unsent = output_.unsent().substr(0, net_defaults::kWriteBytes);
  stream_.async_write_some(boost::asio::buffer(unsent.data(), unsent.size()),
                           [self = self()](boost::system::error_code error, std::size_t bytes) {
                             self->guarded([&] { self->on_written(error, bytes); });
                           });
}

void HttpConnection::on_written(boost::system::error_code error, std::size_t bytes) {
  if (state_ == State::kClosed) return;
  if (error) return on_gone();
  output_.took(bytes);
  if (output_.sending()) return write_some();
  if (!output_.next().empty()) return write();  // the answer, after a 100 Continue
  if (state_ != State::kAnswering) return;      // only a 100 Continue was written
  if (exchange_->state() == HttpExchange::State::kSaid) return finish_exchange();
  if (exchange_->started()) fetch_news();
}

void HttpConnection::finish_exchange() {
  exchange_->log();
  const bool keep_alive = exchange_->keep_alive();
  exchange_.reset();
  ++exchanges_;
  output_.shrink();
  reader_.drop();
  if (!keep_alive) return linger();
  enter(State::kIdle);
  // Posted, not called directly: a client that pipelines thousands of requests would exhaust the
  // stack.
  boost::asio::post(stream_.get_executor(), [self = self()] {
    if (self->state_ == State::kIdle) self->guarded([&] { self->advance(); });
  });
}

void HttpConnection::linger() {
  enter(State::kLingering);
  reader_.drop_all();
  stream_.async_goodbye([self = self()](boost::system::error_code) { self->close(); });
}

bool HttpConnection::client_has_left() {
  if (reading_) return false;  // the outstanding read will notice it
  // Pipelined requests fill the reader, so no read is outstanding, and the client's end comes after
  // unread bytes.
  pollfd socket{.fd = stream_.socket().native_handle(), .events = POLLRDHUP, .revents = 0};
  return poll(&socket, 1, 0) > 0;
}

void HttpConnection::on_gone() {
  if (exchange_) exchange_->lose_client();
  close();
}

void HttpConnection::hang_up_on_slow_client() {
  if (exchange_) exchange_->lose_slow_client();
  close();
}

void HttpConnection::close() {
  if (state_ == State::kClosed) return;
  enter(State::kClosed);
  if (exchange_) exchange_->break_off();
  exchange_.reset();
  stream_.close();
  thread_.remove(*this);
}

void HttpConnection::on_exception(const std::exception& failure) noexcept {
  service_.log().failure("a connection had to be ended", failure);
  close();
}

void HttpConnection::check_time(Time now) {
  const ServerConfig& config = service_.config();
  if (output_.is_stuck(now, config.write_timeout)) {
    service_.slow_readers().count_one_that_took_nothing();
    return hang_up_on_slow_client();
  }
  const auto waited = now - state_began_;
  const bool drained = thread_.draining() && waited > last_call_;
  switch (state_) {
    case State::kHandshake:
      if (drained || waited > config.header_timeout) close();
      return;
    case State::kIdle:
      if (drained || waited > config.idle_timeout) close();
      return;
    case State::kReading:
      if (reader_.is_late(now)) refuse(request_timeout());
      return;
    case State::kAnswering:
      if (client_has_left()) return on_gone();
      return ping_if_quiet(now);
    case State::kLingering:
      if (waited > net_defaults::kLinger) close();
      return;
    case State::kClosed:
      return;
  }
}

void HttpConnection::drain() {
  // A request may have arrived unread, or be on its way.
  if (state_ == State::kIdle || state_ == State::kHandshake) enter(state_);
}

void HttpConnection::abort() { close(); }

}  // namespace weft
