#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/active_request.h"
#include "weft/actors/request/request_port.h"

namespace weft::test {

/// A pipeline that does what the test says, on the test's threads: tick() and end_asked() are for
/// one thread, everything else is thread-safe, except for setting the settings.
class FakePort final : public RequestPort {
 public:
  /// The port's traces that a test can read after the port's end.
  struct Traces {
    std::atomic<int> destroyed{0};
    std::atomic<int> stops{0};
    std::function<void()> while_destroyed{};
  };

  explicit FakePort(std::shared_ptr<Traces> traces = nullptr) : traces_(std::move(traces)) {}
  ~FakePort() override {
    if (traces_ && traces_->while_destroyed) traces_->while_destroyed();
    for (std::size_t i = 0; i < size(); ++i) fail(i, {EngineErrc::kStopping, {}});
    if (traces_) traces_->destroyed.fetch_add(1);
  }

  std::shared_ptr<ActiveRequest> make_request(Request request,
                                              std::shared_ptr<RequestSink> sink) override {
    if (failure) std::rethrow_exception(failure);
    if (while_making) while_making();
    auto made = std::make_shared<ActiveRequest>(ids_.next(), std::move(request), std::move(sink),
                                                TimePoint(Duration(1)));
    made->set_ending(ending_);
    return made;
  }
  void submit(RequestTicket ticket) noexcept override {
    if (refusal) {
      Finish finish;
      finish.reason = FinishReason::kError;
      finish.error = *refusal;
      finish.retry_after = retry_after;
      return std::move(ticket).finish(std::move(finish));
    }
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(ticket.share());
      tickets_.emplace_back(std::move(ticket));
    }
    if (ends_when_asked) end_asked();
  }
  void stop(std::function<void()> stopped) noexcept override {
    if (traces_) traces_->stops.fetch_add(1);
    stopped_ = std::move(stopped);
    if (stops_at_once) finish_stop();
  }
  [[nodiscard]] EngineStats stats() const override {
    const std::scoped_lock lock(mutex_);
    EngineStats stats;
    for (const auto& ticket : tickets_) stats.requests += ticket.has_value() ? 1 : 0;
    return stats;
  }
  [[nodiscard]] MetricsRegistry& metrics() const noexcept override { return *metrics_; }
  [[nodiscard]] bool ready() const noexcept override { return is_ready; }
  [[nodiscard]] bool full() const noexcept override { return is_full; }

  [[nodiscard]] std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return tickets_.size();
  }
  [[nodiscard]] ActiveRequest& request(std::size_t i) const {
    const std::scoped_lock lock(mutex_);
    return *requests_.at(i);
  }

  void admit(std::size_t i) const { request(i).admit(1); }
  void deliver(std::size_t i, std::string_view text, std::span<const TokenId> tokens,
               std::int32_t choice = 0) const {
    request(i).deliver({.choice = choice, .text = text, .tokens = tokens});
  }
  /// Delivers a text with one token for each byte.
  void say(std::size_t i, std::string_view text, std::int32_t choice = 0) const {
    const std::vector<TokenId> tokens(text.begin(), text.end());
    deliver(i, text, tokens, choice);
  }
  void finish(std::size_t i, Finish finish = {}) {
    if (auto ticket = take_ticket(i)) std::move(*ticket).finish(std::move(finish));
  }
  void fail(std::size_t i, Error error) {
    if (auto ticket = take_ticket(i)) std::move(*ticket).fail(std::move(error));
  }
  void finish_stop() {
    if (const auto stopped = std::exchange(stopped_, nullptr)) stopped();
  }

  /// Ends the requests that were asked to end, as the scheduler does at a tick. Returns how many.
  std::size_t end_asked() {
    ending_->take_all([](const std::shared_ptr<ActiveRequest>& /*found below*/) {});
    std::size_t ended = 0;
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::shared_ptr<ActiveRequest> active = running(i);
      if (!active || active->end_cause() == EndCause::kNone) continue;
      ++ended;
      end(i, active->end_cause());
    }
    return ended;
  }

  /// Calls end_asked(), gives each request another token, and ends requests that have max_tokens.
  void tick() {
    end_asked();
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::shared_ptr<ActiveRequest> active = running(i);
      if (!active) continue;
      say(i, "x");
      if (++produced(i) >= active->request().max_tokens) {
        finish(i, {.reason = FinishReason::kLength});
      }
    }
  }

  std::optional<Error> refusal;  ///< of everything that is submitted
  std::chrono::milliseconds retry_after{0};
  std::exception_ptr failure;  ///< of make_request()
  std::function<void()> while_making;
  bool ends_when_asked = false;  ///< as if a tick came at once; for one thread
  bool stops_at_once = true;
  bool is_ready = true;
  bool is_full = false;

 private:
  std::optional<RequestTicket> take_ticket(std::size_t i) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(tickets_.at(i), std::nullopt);
  }
  std::shared_ptr<ActiveRequest> running(std::size_t i) const {
    const std::scoped_lock lock(mutex_);
    return tickets_[i].has_value() ? requests_[i] : nullptr;
  }
  std::int32_t& produced(std::size_t i) {
    if (produced_.size() <= i) produced_.resize(i + 1);
    return produced_[i];
  }
  void end(std::size_t i, EndCause cause) {
    switch (cause) {
      case EndCause::kStop:
        return finish(i, {.reason = FinishReason::kStop});
      case EndCause::kShutdown:
        return fail(i, {EngineErrc::kStopping, {}});
      case EndCause::kFailure:
        return fail(i, {EngineErrc::kInternal, {}});
      default:
        return fail(i, {EngineErrc::kCancelled, {}});
    }
  }

  const std::shared_ptr<Traces> traces_;
  const std::shared_ptr<MetricsRegistry> metrics_ = std::make_shared<MetricsRegistry>();
  const std::shared_ptr<EndingRequests> ending_ = std::make_shared<EndingRequests>([this] {
    if (ends_when_asked) end_asked();
  });
  IdSource<RequestKind> ids_;
  mutable std::mutex mutex_;
  std::vector<std::optional<RequestTicket>> tickets_;
  std::vector<std::shared_ptr<ActiveRequest>> requests_;
  std::vector<std::int32_t> produced_;  // used only by the thread that calls tick()
  std::function<void()> stopped_;
};

}  // namespace weft::test
