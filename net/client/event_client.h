#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/net/client/connector.h"
#include "weft/net/client/event_splitter.h"
#include "weft/net/client/http_request.h"

namespace weft {

/// A server's answer to a request for a stream of events.
struct EventAnswer {
  unsigned status = 0;
  bool streamed = false;  ///< 200 and text/event-stream: on_event got the events, and `body` is
                          ///< empty
  std::string body{};     ///< the body of an answer that is no stream, cut to the bytes that are
                          ///< kept
};

/// One connection to a server for answers that stream. It is kept between requests and opened again
/// when it has closed. One request at a time; on the connector's thread.
class EventClient {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called with the data of an event, and when its last byte was read.
  using OnEvent = std::function<void(std::string_view data, Clock::time_point at)>;

  explicit EventClient(std::shared_ptr<Connector> connector);
  ~EventClient();
  EventClient(const EventClient&) = delete;
  EventClient& operator=(const EventClient&) = delete;

  /// POSTs `body` to `path`, which is appended to the URL's own, and returns when the answer has
  /// ended. An event that is incomplete when the answer ends is dropped.
  ///
  /// Errors: kCannotConnect; kLost, also after close(); kTimeout when it took longer than `limit`;
  /// kBadAnswer when the answer is not HTTP, or an event is too large. The server may have carried
  /// out a request that failed.
  [[nodiscard]] boost::asio::awaitable<Result<EventAnswer>> ask(std::string path, std::string body,
                                                                std::chrono::milliseconds limit,
                                                                OnEvent on_event);

  /// Breaks off the request under way, at once; no event follows.
  void close();

 private:
  /// Takes a body's bytes as they are read.
  struct Inbox;
  struct InboxBody;
  using Parser = boost::beast::http::response_parser<InboxBody>;

  [[nodiscard]] boost::asio::awaitable<Result<void>> try_ask(const HttpRequest* request,
                                                             Clock::time_point until);
  [[nodiscard]] boost::asio::awaitable<Result<void>> exchange(const HttpRequest* request);
  [[nodiscard]] Result<void> take_read(bool at_end);

  std::shared_ptr<Connector> connector_;
  std::optional<NetStream> stream_;
  boost::beast::flat_buffer buffer_;
  std::unique_ptr<Inbox> inbox_;
  std::unique_ptr<Parser> parser_;
  bool closed_ = false;
};

}  // namespace weft
