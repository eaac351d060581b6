#include "weft/measure/server/websocket_load_client.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "weft/measure/server/client_error.h"
#include "weft/net/client/deadline.h"
#include "weft/net/client/websocket_client.h"

namespace weft::measure {

using std::chrono::steady_clock;

namespace {

// The bytes that are shown of a message that is no event: as much as a person reads.
constexpr std::size_t kShownMessage = 200;

}  // namespace

/// One WebSocket and its streams. Each stream is named by its request's number, because a reused
/// name could receive late messages of an earlier request.
class WebSocketLoadClient::Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(WebSocketLoadClient& owner) : owner_(owner) {}

  void start() {
    socket_ = std::make_shared<WebSocketClient>(
        owner_.connector_, std::string(path_of(ServerApi::kResponses)),
        WebSocketClient::Events{
            .on_message = [this](std::string_view message) { on_message(message); },
            .on_end = [this](const Error& error, std::uint16_t /*code*/) { on_end(error); }});
    socket_->start();
  }
  [[nodiscard]] bool full() const noexcept { return streams_.size() >= owner_.max_streams_; }

  void ask(std::shared_ptr<AnswerMeter> meter) {
    const std::uint64_t number = asked_++;
    Stream& stream = streams_[number];
    stream.meter = std::move(meter);
    stream.deadline.emplace(owner_.connector_->context().get_executor(), owner_.limit_,
                            [this, number] { on_late(number); });
    socket_->send(owner_.questions_.next(stream.meter->asked(), std::to_string(number)));
  }
  /// Fails all requests under way, since the connection is gone.
  void close(const std::string& kind, const std::string& detail) {
    const auto self = shared_from_this();  // keeps this object alive, which the callee may release
    owner_.forget(*this);
    socket_->close();
    const auto streams = std::exchange(streams_, {});
    for (const auto& [number, stream] : streams) {
      stream.meter->fail(kind, detail, steady_clock::now());
    }
  }

 private:
  struct Stream {
    std::shared_ptr<AnswerMeter> meter{};
    std::optional<Deadline> deadline{};
  };
  using Streams = std::map<std::uint64_t, Stream>;

  void on_message(std::string_view message) {
    const TimePoint now = steady_clock::now();
    const auto self = shared_from_this();
    const auto event = owner_.reader_.response(message);
    if (!event) {
      return close("bad answer",
                   "a message is no event: " + std::string(message.substr(0, kShownMessage)));
    }
    // An error without a stream fails all streams, because its request is unknown.
    if (event->stream_id.empty() && !event->error.empty()) {
      return close("error " + std::string(event->error), std::string(event->message));
    }
    const auto stream = find(event->stream_id);
    if (stream == streams_.end()) return;  // the stream has ended
    if (event->error.empty() && !event->finished) return stream->second.meter->add(*event, now);
    const auto meter = stream->second.meter;
    streams_.erase(stream);  // erased before the meter is notified, so that the next request finds
                             // room
    meter->add(*event, now);
    meter->end(now);
  }

  void on_end(const Error& error) { close(std::string(kind_of(error)), to_string(error)); }

  /// Its stream stays taken until the server has ended it.
  void on_late(std::uint64_t number) {
    socket_->send(cancel_message(std::to_string(number)));
    const auto meter = streams_.at(number).meter;
    meter->fail("timeout", "no answer in time", steady_clock::now());
  }

  Streams::iterator find(std::string_view name) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return streams_.end();
    return streams_.find(number);
  }

  WebSocketLoadClient& owner_;
  std::shared_ptr<WebSocketClient> socket_;
  Streams streams_;  // streams with a request under way
  std::uint64_t asked_ = 0;
};

WebSocketLoadClient::WebSocketLoadClient(std::shared_ptr<Connector> connector,
                                         QuestionOptions options, std::chrono::milliseconds limit,
                                         std::size_t max_streams)
    : connector_(std::move(connector)),
      questions_(std::move(options)),
      limit_(limit),
      max_streams_(std::max<std::size_t>(max_streams, 1)) {}

WebSocketLoadClient::~WebSocketLoadClient() { stop(); }

void WebSocketLoadClient::ask(std::shared_ptr<AnswerMeter> meter) {
  const auto found =
      std::ranges::find_if(connections_, [](const auto& one) { return !one->full(); });
  if (found != connections_.end()) return (*found)->ask(std::move(meter));
  connections_.push_back(std::make_shared<Connection>(*this));
  connections_.back()->start();
  connections_.back()->ask(std::move(meter));
}

void WebSocketLoadClient::forget(const Connection& connection) {
  std::erase_if(connections_, [&](const auto& one) { return one.get() == &connection; });
}

void WebSocketLoadClient::stop() {
  const auto all = connections_;
  for (const auto& connection : all) connection->close("stopped", "");
}

}  // namespace weft::measure
