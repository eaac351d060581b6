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

// Of a message that is no event: what a person can make out.
constexpr std::size_t kShownMessage = 200;

}  // namespace

/// One WebSocket and its lanes, each named by the number of its request: a name that were used
/// again would have what comes late for the one before.
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
  [[nodiscard]] bool full() const noexcept { return lanes_.size() >= owner_.lanes_; }

  void ask(std::shared_ptr<AnswerMeter> meter) {
    const std::uint64_t number = asked_++;
    Lane& lane = lanes_[number];
    lane.meter = std::move(meter);
    lane.deadline.emplace(owner_.connector_->context().get_executor(), owner_.limit_,
                          [this, number] { on_late(number); });
    socket_->send(owner_.questions_.next(lane.meter->asked(), std::to_string(number)));
  }
  /// All that is under way fails; the connection is gone.
  void close(const std::string& kind, const std::string& detail) {
    const auto self = shared_from_this();  // whoever hears of an end may let go of it
    owner_.forget(*this);
    socket_->close();
    const auto lanes = std::exchange(lanes_, {});
    for (const auto& [number, lane] : lanes) lane.meter->fail(kind, detail, steady_clock::now());
  }

 private:
  struct Lane {
    std::shared_ptr<AnswerMeter> meter{};
    std::optional<Deadline> deadline{};
  };
  using Lanes = std::map<std::uint64_t, Lane>;

  void on_message(std::string_view message) {
    const TimePoint now = steady_clock::now();
    const auto self = shared_from_this();
    const auto event = owner_.reader_.response(message);
    if (!event) {
      return close("bad answer",
                   "a message is no event: " + std::string(message.substr(0, kShownMessage)));
    }
    // What names no lane concerns all of them: nobody could say whose it is.
    if (event->lane.empty() && !event->error.empty()) {
      return close("error " + std::string(event->error), std::string(event->message));
    }
    const auto lane = find(event->lane);
    if (lane == lanes_.end()) return;  // it has ended
    if (event->error.empty() && !event->finished) return lane->second.meter->add(*event, now);
    const auto meter = lane->second.meter;
    lanes_.erase(lane);  // before it tells, so that what is asked next has its place
    meter->add(*event, now);
    meter->end(now);
  }

  void on_end(const Error& error) { close(std::string(kind_of(error)), to_string(error)); }

  /// Its lane stays taken until the server has ended it.
  void on_late(std::uint64_t number) {
    socket_->send(cancel_message(std::to_string(number)));
    const auto meter = lanes_.at(number).meter;
    meter->fail("timeout", "no answer in time", steady_clock::now());
  }

  Lanes::iterator find(std::string_view name) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return lanes_.end();
    return lanes_.find(number);
  }

  WebSocketLoadClient& owner_;
  std::shared_ptr<WebSocketClient> socket_;
  Lanes lanes_;  // with a request under way
  std::uint64_t asked_ = 0;
};

WebSocketLoadClient::WebSocketLoadClient(std::shared_ptr<Connector> connector,
                                         QuestionOptions options, std::chrono::milliseconds limit,
                                         std::size_t lanes)
    : connector_(std::move(connector)),
      questions_(std::move(options)),
      limit_(limit),
      lanes_(std::max<std::size_t>(lanes, 1)) {}

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
