#include "weft/net/client/http_client.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <string_view>
#include <utility>

#include "weft/net/client/deadline.h"

namespace weft {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// The largest answer: the longest outputs with logprobs are some megabytes.
constexpr std::uint64_t kLargestBody = std::uint64_t{256} << 20;
/// The longest Retry-After, in seconds, that is followed; a longer one is cut.
constexpr int kLongestRetry = 3600;

std::chrono::milliseconds retry_after_of(std::string_view text) {
  int seconds = 0;  // HTTP also allows a date, which counts as no value here
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) seconds = 0;
  return std::chrono::seconds(std::clamp(seconds, 0, kLongestRetry));
}

}  // namespace

asio::awaitable<boost::system::error_code> HttpClient::exchange(const HttpRequest* request) {
  buffer_.clear();
  parser_.emplace();
  parser_->body_limit(kLargestBody);
  const auto [not_sent, sent] = co_await http::async_write(*stream_, *request, kAsTuple);
  if (not_sent) co_return not_sent;
  const auto [lost, received] = co_await http::async_read(*stream_, buffer_, *parser_, kAsTuple);
  co_return lost;
}

asio::awaitable<Result<HttpAnswer>> HttpClient::ask(std::string path, std::string body,
                                                    std::chrono::milliseconds limit) {
  const HttpRequest request = make_http_request(connector_->options(), path, std::move(body));
  const auto until = Connector::Clock::now() + limit;
  const Deadline deadline(connector_->context().get_executor(), limit, [this] {
    if (stream_) stream_->close();
  });
  for (;;) {
    const bool kept = stream_.has_value();
    if (!kept) {
      auto connected = co_await connector_->connect(until);
      if (!connected) co_return std::move(connected).error();
      if (deadline.expired()) co_return connector_->lost("no answer in time");
      stream_.emplace(*std::move(connected));
    }
    const auto error = co_await exchange(&request);
    if (!error) break;
    stream_.reset();
    if (deadline.expired()) co_return connector_->lost("no answer in time");
    // The server may have closed a kept connection before it saw the request; then the request is
    // sent again.
    if (!kept || parser_->got_some()) co_return connector_->lost(error.message());
  }
  auto& response = parser_->get();
  HttpAnswer answer{.status = response.result_int(),
                    .request_id = std::string(response["X-Request-Id"]),
                    .retry_after = retry_after_of(response[http::field::retry_after])};
  answer.body = std::move(response.body());
  if (!response.keep_alive()) stream_.reset();
  co_return answer;
}

}  // namespace weft
