#include "weft/measure/websocket_load_client.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "weft/measure/client_error.h"
#include "weft/net/client/deadline.h"
#include "weft/net/client/websocket_client.h"

namespace weft::measure {

using std::chrono::steady_clock;

/// One WebSocket and its lanes, named by their numbers.
class WebSocketLoadClient::Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(WebSocketLoadClient& owner) : owner_(owner), lanes_(owner.lanes_) {
    for (std::size_t i = lanes_.size(); i > 0; --i) free_.push_back(i - 1);
  }

  void start() {
    socket_ = std::make_shared<WebSocketClient>(
        owner_.connector_, std::string(path_of(ServerApi::kResponses)),
        WebSocketClient::Events{
            .on_message = [this](std::string_view message) { on_message(message); },
            .on_end = [this](const Error& error, std::uint16_t /*code*/) { on_end(error); }});
    socket_->start();
  }
  [[nodiscard]] bool full() const noexcept { return free_.empty(); }

  void ask(std::shared_ptr<AnswerMeter> meter) {
    const std::size_t number = free_.back();
    free_.pop_back();
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
    for (Lane& lane : lanes_) {
      lane.deadline.reset();
      if (const auto meter = std::exchange(lane.meter, nullptr)) {
        meter->fail(kind, detail, steady_clock::now());
      }
    }
  }

 private:
  struct Lane {
    std::shared_ptr<AnswerMeter> meter{};  // null: nothing is under way
    std::optional<Deadline> deadline{};
  };

  void on_message(std::string_view message) {
    const TimePoint now = steady_clock::now();
    const auto self = shared_from_this();
    const auto event = owner_.reader_.response(message);
    if (!event) return close("bad answer", "a message is no event: " + std::string(message));
    Lane* const lane = find(event->lane);
    if (lane == nullptr) {
      // What concerns all of them: nobody could say whose it is.
      if (!event->error.empty()) {
        close("error " + std::string(event->error), std::string(event->message));
      }
      return;
    }
    if (event->error.empty() && !event->finished) return lane->meter->add(*event, now);
    // Free before it tells, so that what is asked next can have it.
    const auto meter = std::exchange(lane->meter, nullptr);
    lane->deadline.reset();
    free_.push_back(static_cast<std::size_t>(lane - lanes_.data()));
    meter->add(*event, now);
    meter->end(now);
  }

  void on_end(const Error& error) { close(std::string(kind_of(error)), to_string(error)); }

  /// Its lane stays taken until the server has ended it.
  void on_late(std::size_t number) {
    socket_->send(cancel_message(std::to_string(number)));
    const auto meter = lanes_[number].meter;
    meter->fail("timeout", "no answer in time", steady_clock::now());
  }

  Lane* find(std::string_view name) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return nullptr;
    if (number >= lanes_.size() || lanes_[number].meter == nullptr) return nullptr;
    return &lanes_[number];
  }

  WebSocketLoadClient& owner_;
  std::shared_ptr<WebSocketClient> socket_;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> free_;
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
