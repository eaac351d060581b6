#include "weft/net/client/event_client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/optional/optional.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/net/client/deadline.h"
#include "weft/net/http/header_values.h"
#include "weft/net/net_error.h"

namespace weft {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// The size of a read: a hundred events of one token, or fewer events with logprobs.
constexpr std::size_t kReadBytes = std::size_t{16} << 10;
/// The largest event: a whole answer, which some servers repeat at its end.
constexpr std::size_t kLargestEvent = std::size_t{16} << 20;
/// The bytes that are kept of an answer that is no stream: as much as a person would read of an
/// error.
constexpr std::size_t kKeptBody = std::size_t{64} << 10;

Error bad_answer(const Connector& connector, std::string_view what) {
  return {NetErrc::kBadAnswer, connector.options().url.text().append(": ").append(what)};
}

}  // namespace

struct EventClient::Inbox {
  OnEvent on_event{};
  bool muted = false;  // may be set within on_event, which must not be destroyed there
  EventSplitter events{kLargestEvent};
  EventAnswer answer{};
  Clock::time_point read_at{};

  void begin(const http::response_header<>& header) {
    answer = {.status = header.result_int()};
    answer.streamed = header.result() == http::status::ok &&
                      istarts_with(header[http::field::content_type], "text/event-stream");
    events.clear();
  }
  void take(std::string_view bytes) {
    if (!answer.streamed) {
      answer.body.append(bytes.substr(0, kKeptBody - answer.body.size()));
      return;
    }
    events.put(bytes);
    while (const auto data = events.next()) {
      if (!muted) on_event(*data, read_at);
    }
  }
};

/// A body type for Beast that stores nothing.
struct EventClient::InboxBody {
  using value_type = Inbox*;

  class reader {  // NOLINT(readability-identifier-naming): Beast's name
   public:
    template <bool Request, class Fields>
    reader(http::header<Request, Fields>& header, value_type& inbox)
        : header_(header), inbox_(inbox) {}

    void init(const boost::optional<std::uint64_t>& /*size*/, boost::system::error_code& error) {
      error.clear();
      inbox_->begin(header_);
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      std::size_t bytes = 0;
      for (const asio::const_buffer piece : boost::beast::buffers_range_ref(buffers)) {
        inbox_->take({static_cast<const char*>(piece.data()), piece.size()});
        bytes += piece.size();
      }
      error.clear();
      if (inbox_->events.too_large()) error = http::error::body_limit;
      return bytes;
    }
    static void finish(boost::system::error_code& error) { error.clear(); }

   private:
    const http::response_header<>& header_;
    value_type& inbox_;
  };
};

EventClient::EventClient(std::shared_ptr<Connector> connector)
    : connector_(std::move(connector)), inbox_(std::make_unique<Inbox>()) {}

EventClient::~EventClient() = default;

/// Takes the bytes that have been read; `at_end` says that no more come.
Result<void> EventClient::take_read(bool at_end) {
  inbox_->read_at = Clock::now();
  boost::system::error_code error;
  while (buffer_.size() > 0 && !parser_->is_done() && !error) {
    buffer_.consume(parser_->put(buffer_.data(), error));
  }
  if (error == http::error::need_more) error.clear();
  if (at_end && !error && !parser_->is_done()) {
    if (!parser_->got_some()) return connector_->lost("the server has closed the connection");
    parser_->put_eof(error);
    if (error == http::error::partial_message) return connector_->lost("it ended within an answer");
  }
  if (inbox_->events.too_large()) return bad_answer(*connector_, "an event is too large");
  if (error) return bad_answer(*connector_, error.message());
  return {};
}

asio::awaitable<Result<void>> EventClient::exchange(const HttpRequest* request) {
  buffer_.clear();
  // The earlier answer is cleared here, because an answer without a body would leave it in place.
  inbox_->answer = {};
  inbox_->events.clear();
  parser_ = std::make_unique<Parser>();
  parser_->body_limit(boost::none);
  parser_->eager(true);
  parser_->get().body() = inbox_.get();
  const auto [not_sent, sent] = co_await http::async_write(*stream_, *request, kAsTuple);
  if (not_sent) co_return connector_->lost(not_sent.message());
  while (!parser_->is_done()) {
    const auto [error, bytes] =
        co_await stream_->async_read_some(buffer_.prepare(kReadBytes), kAsTuple);
    if (closed_) co_return connector_->lost("closed");
    buffer_.commit(bytes);
    const bool at_end = error == asio::error::eof;
    if (error && !at_end) co_return connector_->lost(error.message());
    if (auto taken = take_read(at_end); !taken) co_return taken;
  }
  if (inbox_->answer.status == 0) inbox_->begin(parser_->get());  // the answer had no body
  co_return Result<void>();
}

/// Sends the request. Sends it a second time where the server closed a kept connection before it
/// saw the request.
asio::awaitable<Result<void>> EventClient::try_ask(const HttpRequest* request,
                                                   Clock::time_point until) {
  for (;;) {
    const bool kept = stream_.has_value();
    if (!kept) {
      auto connected = co_await connector_->connect(until);
      if (!connected) co_return std::move(connected).error();
      if (closed_) co_return connector_->lost("closed");
      stream_.emplace(*std::move(connected));
    }
    auto done = co_await exchange(request);
    if (done) break;
    stream_.reset();
    if (!kept || closed_ || parser_->got_some()) co_return done;
  }
  // Left-over bytes would be read as the next answer, so the connection is closed.
  if (!parser_->keep_alive() || buffer_.size() > 0) stream_.reset();
  co_return Result<void>();
}

asio::awaitable<Result<EventAnswer>> EventClient::ask(std::string path, std::string body,
                                                      std::chrono::milliseconds limit,
                                                      OnEvent on_event) {
  const HttpRequest request = make_http_request(connector_->options(), path, std::move(body));
  closed_ = false;
  inbox_->muted = false;
  inbox_->on_event = std::move(on_event);
  const Deadline deadline(connector_->context().get_executor(), limit, [this] { close(); });
  auto done = co_await try_ask(&request, Clock::now() + limit);
  inbox_->on_event = nullptr;
  if (done) co_return std::move(inbox_->answer);
  if (deadline.expired()) {
    co_return Error{NetErrc::kTimeout, connector_->options().url.text()};
  }
  co_return std::move(done).error();
}

void EventClient::close() {
  closed_ = true;
  inbox_->muted = true;
  if (stream_) stream_->close();
}

}  // namespace weft
