#include "weft/net/server/http_connection.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <iterator>
#include <utility>

#include "weft/net/defaults.h"
#include "weft/net/http/header_values.h"
#include "weft/net/server/websocket_connection.h"
#include "weft/net/service/routes.h"

namespace weft {

namespace http = boost::beast::http;
using std::chrono::steady_clock;

namespace {

/// How a request that cannot be read is answered.
ApiError error_of(boost::system::error_code error) {
  if (error == http::error::header_limit) {
    return {.status = 431, .code = "header_too_large", .message = "the header is too large"};
  }
  if (error == http::error::body_limit) {
    return {.status = 413, .code = "body_too_large", .message = "the body is too large"};
  }
  return {.code = "bad_request", .message = "this is not an HTTP/1.1 request"};
}

std::string_view date_now() {
  thread_local std::chrono::sys_seconds second{};
  thread_local std::string text;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (text.empty() || now != second) {
    text = http_date(now);
    second = now;
  }
  return text;
}

}  // namespace

HttpConnection::HttpConnection(IoThread& thread, Service& service, NetStream&& stream,
                               std::string client, ConnectionCount::Place place)
    : Connection(std::move(place)),
      thread_(thread),
      service_(service),
      stream_(std::move(stream)),
      client_(std::move(client)),
      input_(net_defaults::kReadAhead),
      body_memory_(service.body_memory()) {}

HttpConnection::~HttpConnection() {
  if (exchange_.answer) exchange_.answer->abandon(EndCause::kCancel);
}

void HttpConnection::start() {
  thread_.add(shared_from_this());
  guarded([this] { begin(); });
}

void HttpConnection::begin() {
  if (!stream_.is_tls()) {
    enter(Phase::kIdle);
    return read();
  }
  enter(Phase::kHandshake);
  stream_.async_handshake(boost::asio::ssl::stream_base::server,
                          [self = self()](boost::system::error_code error) {
                            if (error || self->phase_ == Phase::kClosed) return self->close();
                            self->enter(Phase::kIdle);
                            self->guarded([&] { self->read(); });
                          });
}

void HttpConnection::enter(Phase phase) {
  phase_ = phase;
  phase_began_ = steady_clock::now();
}

void HttpConnection::read() {
  if (reading_ || phase_ == Phase::kClosed) return;
  const std::size_t room = net_defaults::kReadAhead - input_.size();
  if (room == 0) return;  // goes on when a request has been taken out
  reading_ = true;
  stream_.async_read_some(boost::asio::buffer(arriving_, room),
                          [self = self()](boost::system::error_code error, std::size_t bytes) {
                            self->guarded([&] { self->on_read(error, bytes); });
                          });
}

void HttpConnection::on_read(boost::system::error_code error, std::size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kLingering) {
    // Whatever it says, it comes too late; but its end came here, and not to the goodbye.
    if (error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated) {
      close();
    }
    return;
  }
  if (error) return on_gone();
  input_.commit(
      boost::asio::buffer_copy(input_.prepare(bytes), boost::asio::buffer(arriving_, bytes)));
  if (phase_ == Phase::kAnswering) return read();
  advance();
}

void HttpConnection::advance() {
  if (phase_ == Phase::kIdle && input_.size() > 0) enter(Phase::kHeader);
  if (!parser_) {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(service_.config().max_header_bytes));
    parser_->body_limit(static_cast<std::uint64_t>(service_.config().max_body_bytes));
    header_checked_ = false;
    body_bytes_ = 0;
    body_memory_.clear();
  }
  boost::system::error_code error;
  const bool whole = parse(error);
  if (phase_ != Phase::kIdle && phase_ != Phase::kHeader && phase_ != Phase::kBody) return;
  if (error) return refuse(error);
  if (whole) return dispatch();
  // Trailers, or a chunk's extensions: all else is taken out as it comes.
  if (input_.size() == net_defaults::kReadAhead) return refuse(http::error::header_limit);
  read();
}

bool HttpConnection::parse(boost::system::error_code& error) {
  while (!parser_->is_done()) {
    const std::size_t taken = input_.size() == 0 ? 0 : parser_->put(input_.data(), error);
    input_.consume(taken);
    if (header_checked_) {
      body_bytes_ += taken;
      if (!body_memory_.grow(taken)) {
        refuse_body();
        return false;
      }
    }
    if (error == http::error::need_more) {
      error.clear();
      if (taken == 0) return false;
    }
    if (error) return false;
    if (parser_->is_header_done() && !std::exchange(header_checked_, true)) {
      if (!check_header()) return false;
      continue;
    }
    if (taken == 0) return false;
  }
  return true;
}

bool HttpConnection::check_header() {
  const auto& header = parser_->get().base();
  exchange_ = Exchange{};
  exchange_.began = steady_clock::now();
  exchange_.method = std::string(header.method_string());
  exchange_.http10 = header.version() < 11;
  exchange_.head = header.method() == http::verb::head;
  exchange_.keep_alive = parser_->get().keep_alive();
  exchange_.request_id = Service::request_id_of(header);
  exchange_.headers = service_.headers_for(header, exchange_.request_id);
  const auto fields = std::distance(header.begin(), header.end());
  if (fields > service_.config().max_header_fields) {
    refuse(http::error::header_limit);
    return false;
  }
  if (header.version() >= 11 && header.count(http::field::host) != 1) {
    refuse(http::error::bad_field);
    return false;
  }
  if (header.count(http::field::transfer_encoding) > 0 &&
      (exchange_.http10 || header.count(http::field::transfer_encoding) > 1 ||
       !boost::beast::iequals(header[http::field::transfer_encoding], "chunked"))) {
    // Where such a body ends, others may see differently (RFC 9112, section 6.1). Beast takes some
    // of them as no body at all.
    refuse(http::error::bad_transfer_encoding);
    return false;
  }
  auto admission = service_.admit(header);
  if (auto* refusal = std::get_if<HttpReply>(&admission)) {
    exchange_.path = std::string(header.target().substr(0, header.target().find('?')));
    // A body that nobody reads stands in the way of the next request.
    refusal->close = !parser_->is_done();
    reply(std::move(*refusal));
    return false;
  }
  exchange_.admission = std::move(std::get<Service::Admission>(admission));
  exchange_.path = exchange_.admission.path;
  if (!parser_->is_done()) {
    enter(Phase::kBody);
    if (boost::beast::iequals(header[http::field::expect], "100-continue")) {
      output_ = "HTTP/1.1 100 Continue\r\n\r\n";
      write();
    }
  }
  return true;
}

void HttpConnection::refuse(boost::system::error_code error) {
  if (!header_checked_) {
    exchange_ = Exchange{};
    exchange_.began = phase_began_;
    exchange_.request_id = "-";
  }
  HttpReply refusal = error_reply(error_of(error));
  refusal.close = true;
  reply(std::move(refusal));
}

void HttpConnection::refuse_body() {
  parser_.reset();  // what has come of it
  body_memory_.clear();
  HttpReply refusal = error_reply(Service::no_body_memory());
  refusal.close = true;
  reply(std::move(refusal));
}

void HttpConnection::dispatch() {
  BodyMemory::Share until_decoded = std::move(body_memory_);
  Request request = parser_->release();
  parser_.reset();
  enter(Phase::kAnswering);
  if (service_.log().prompts()) exchange_.logged_body = request.body();
  Outcome outcome =
      service_.handle(exchange_.admission, request.base(), request.body(), until_decoded);
  if (std::holds_alternative<Upgrade>(outcome)) {
    return upgrade(std::move(request));
  }
  if (auto* call = std::get_if<ApiCall>(&outcome)) {
    start_answer(std::move(*call));
  } else if (auto* later = std::get_if<LaterReply>(&outcome)) {
    start_later(*later);
  } else {
    reply(std::move(std::get<HttpReply>(outcome)));
  }
  read();  // to see it when the client goes
}

void HttpConnection::upgrade(Request request) {
  // A client must wait for the answer before it sends frames (RFC 6455, section 4.1). Behind
  // another request a read is outstanding, which would take the first of them.
  if (input_.size() > 0 || reading_ || writing_ || exchange_.http10) {
    return refuse(http::error::bad_field);
  }
  const auto timeout = timeout_of(request);
  if (!timeout) return reply(error_reply(timeout.error()));
  const auto socket = std::make_shared<WebSocketConnection>(
      thread_, service_, std::move(stream_),
      ResponseSession::Client{
          .key = exchange_.admission.key, .address = client_, .timeout = *timeout},
      take_place());
  enter(Phase::kClosed);
  thread_.remove(*this);
  socket->start(std::move(request));
}

void HttpConnection::start_answer(ApiCall call) {
  auto begun = service_.begin(std::move(call),
                              {.key = exchange_.admission.key,
                               .request_id = exchange_.request_id,
                               .path = exchange_.path,
                               .began = exchange_.began},
                              thread_, *this);
  if (!begun) return reply(error_reply(begun.error()));
  exchange_.lease = std::move(begun->lease);
  exchange_.place = std::move(begun->place);
  exchange_.answer = std::move(begun->answer);
}

void HttpConnection::start_later(const LaterReply& later) {
  // A client that goes meanwhile, or a connection that ends, leaves the reply behind.
  later([weak = std::weak_ptr<Connection>(shared_from_this()), which = exchanges_,
         executor = stream_.get_executor()](HttpReply made) {
    boost::asio::post(executor, [weak, which, made = std::move(made)]() mutable {
      const auto self = std::static_pointer_cast<HttpConnection>(weak.lock());
      if (self && self->phase_ == Phase::kAnswering && self->exchanges_ == which) {
        self->guarded([&] { self->reply(std::move(made)); });
      }
    });
  });
}

void HttpConnection::on_news(Answer& answer) {
  guarded([&] { take_news(answer); });
}

void HttpConnection::take_news(Answer& answer) {
  const auto bound = static_cast<std::size_t>(service_.config().max_unread_bytes);
  if (!writing_) return pump();
  if (answer.framing() == Framing::kSse && answer.unread_bytes() > bound) {
    exchange_.error = "client_too_slow";
    answer.abandon(EndCause::kSlowReader);
    close();
  }
}

void HttpConnection::pump() {
  Answer& answer = *exchange_.answer;
  thread_local EventBatch batch(Framing::kBody);  // not the connection's: an idle one keeps none
  batch.restart(answer.framing());
  answer.fetch(batch);
  if (answer.error()) exchange_.error = answer.error()->code;
  if (answer.framing() == Framing::kSse && (answer.begun() || exchange_.streaming)) {
    return pump_events(batch.bytes());
  }
  if (!answer.ended()) return;
  if (answer.error() && batch.empty()) return reply(error_reply(*answer.error()));
  reply({.body = std::string(batch.bytes())});
}

void HttpConnection::pump_events(std::string_view news) {
  if (!exchange_.streaming) begin_stream();
  if (!news.empty()) {
    if (exchange_.http10) {
      output_.append(news);
    } else {
      append_chunk(news, output_);
    }
  }
  if (exchange_.answer->ended()) {
    if (!exchange_.http10) output_.append(kLastChunk);
    exchange_.complete = true;
  }
  if (!output_.empty()) write();
}

void HttpConnection::begin_stream() {
  exchange_.streaming = true;
  exchange_.status = 200;
  auto headers = exchange_.headers;
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");  // nginx, which else keeps events back
  if (exchange_.http10 || thread_.draining()) exchange_.keep_alive = false;
  append_head({.status = 200,
               .date = date_now(),
               .content_type = "text/event-stream; charset=utf-8",
               .headers = &headers,
               .keep_alive = exchange_.keep_alive,
               .http10 = exchange_.http10},
              output_);
}

void HttpConnection::reply(HttpReply made) {
  enter(Phase::kAnswering);
  exchange_.status = made.status;
  exchange_.complete = true;
  if (made.close || thread_.draining()) exchange_.keep_alive = false;
  auto headers = exchange_.headers;
  std::ranges::move(made.headers, std::back_inserter(headers));
  const std::size_t length = made.body.size();
  append_head({.status = made.status,
               .date = date_now(),
               .content_type = made.content_type,
               .headers = &headers,
               .length = &length,
               .keep_alive = exchange_.keep_alive,
               .http10 = exchange_.http10},
              output_);
  if (!exchange_.head) output_.append(made.body);
  write();
}

void HttpConnection::write() {
  if (writing_ || phase_ == Phase::kClosed) return;
  writing_ = true;
  progress_ = steady_clock::now();
  written_ = 0;
  sending_.clear();
  std::swap(sending_, output_);
  write_some();
}

void HttpConnection::write_some() {
  stream_.async_write_some(boost::asio::buffer(sending_) + written_,
                           [self = self()](boost::system::error_code error, std::size_t bytes) {
                             self->guarded([&] { self->on_written(error, bytes); });
                           });
}

void HttpConnection::on_written(boost::system::error_code error, std::size_t bytes) {
  if (phase_ == Phase::kClosed) return;
  if (error) return on_gone();
  progress_ = steady_clock::now();
  written_ += bytes;
  if (written_ < sending_.size()) return write_some();
  writing_ = false;
  if (!output_.empty()) return write();     // the answer, behind a 100 Continue
  if (phase_ != Phase::kAnswering) return;  // it was a 100 Continue
  if (exchange_.complete) return finish_exchange();
  if (exchange_.answer) pump();
}

void HttpConnection::finish_exchange() {
  log_exchange();
  const bool keep_alive = exchange_.keep_alive;  // as its head has said
  exchange_ = Exchange{};
  ++exchanges_;
  parser_.reset();
  for (std::string* const buffer : {&sending_, &output_}) {
    if (buffer->capacity() > net_defaults::kReadBytes) std::string().swap(*buffer);
  }
  if (input_.size() == 0) input_.shrink_to_fit();
  if (!keep_alive) return linger();
  enter(Phase::kIdle);
  // Not from within: a client that pipelines thousands of requests would take the stack.
  boost::asio::post(stream_.get_executor(), [self = self()] {
    if (self->phase_ == Phase::kIdle) self->guarded([&] { self->advance(); });
  });
}

void HttpConnection::linger() {
  enter(Phase::kLingering);
  input_.consume(input_.size());
  stream_.async_goodbye([self = self()](boost::system::error_code) { self->close(); });
}

bool HttpConnection::client_has_left() {
  if (reading_) return false;  // the read will say so
  // What the client has pipelined fills input_, and its end stands behind what nobody reads yet.
  pollfd socket{.fd = stream_.socket().native_handle(), .events = POLLRDHUP, .revents = 0};
  return poll(&socket, 1, 0) > 0;
}

void HttpConnection::on_gone() {
  if (exchange_.answer && !exchange_.complete && exchange_.error.empty()) {
    exchange_.error = "client_gone";
    exchange_.status = exchange_.status == 0 ? 499 : exchange_.status;
  }
  close();
}

void HttpConnection::close() {
  if (phase_ == Phase::kClosed) return;
  enter(Phase::kClosed);
  if (exchange_.answer) {
    exchange_.answer->abandon(EndCause::kCancel);
    log_exchange();
  }
  exchange_ = Exchange{};
  stream_.close();
  thread_.remove(*this);
}

void HttpConnection::on_exception(const std::exception& failure) noexcept {
  service_.log().failure("a connection had to be ended", failure);
  close();
}

void HttpConnection::log_exchange() {
  if (exchange_.status == 0) exchange_.status = 499;
  Usage usage;
  if (exchange_.answer) usage = exchange_.answer->usage();
  const auto now = steady_clock::now();
  service_.log().request({.request_id = exchange_.request_id,
                          .client = client_,
                          .key = owner_of(exchange_.admission.key),
                          .method = exchange_.method,
                          .path = exchange_.path,
                          .status = exchange_.status,
                          .error = exchange_.error,
                          .prompt_tokens = usage.prompt_tokens,
                          .output_tokens = usage.output_tokens,
                          .took = now - exchange_.began,
                          .body = exchange_.logged_body});
}

void HttpConnection::check_time(Time now) {
  const ServerConfig& config = service_.config();
  const auto waited = now - phase_began_;
  if (writing_ && now - progress_ > config.write_timeout) {
    exchange_.error = "client_too_slow";
    if (exchange_.answer) exchange_.answer->abandon(EndCause::kSlowReader);
    return close();
  }
  const auto too_slow = [this] {
    HttpReply late = error_reply({.status = 408,
                                  .type = "timeout_error",
                                  .code = "request_timeout",
                                  .message = "the request did not arrive in time"});
    late.close = true;
    if (!header_checked_) exchange_ = Exchange{.began = phase_began_, .request_id = "-"};
    reply(std::move(late));
  };
  const auto seconds = std::chrono::duration<double>(waited).count();
  const bool drained = thread_.draining() && waited > net_defaults::kLastCall;
  switch (phase_) {
    case Phase::kHandshake:
      if (drained || waited > config.header_timeout) close();
      return;
    case Phase::kIdle:
      if (drained || waited > config.idle_timeout) close();
      return;
    case Phase::kHeader:
      if (waited > config.header_timeout) too_slow();
      return;
    case Phase::kBody:
      if (waited > net_defaults::kBodyGrace &&
          static_cast<double>(body_bytes_) < seconds * config.min_body_rate) {
        too_slow();
      }
      return;
    case Phase::kLingering:
      if (waited > net_defaults::kLinger) close();
      return;
    case Phase::kAnswering:
      if (client_has_left()) on_gone();
      return;
    case Phase::kClosed:
      return;
  }
}

void HttpConnection::drain() {
  // A request may be there that nobody has read yet, or on its way.
  if (phase_ == Phase::kIdle || phase_ == Phase::kHandshake) enter(phase_);
}

void HttpConnection::abort() { close(); }

}  // namespace weft
