#include "weft/bench/actors/load.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace weft::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Notes when its request's tokens come.
class User final : public RequestSink {
 public:
  explicit User(const Arrival& arrival) {
    outcome_.cls = arrival.cls;
    times_.reserve(static_cast<std::size_t>(arrival.output));
  }

  void begin(TimePoint now) { sent_ = now; }

  void deliver(const DeltaView& delta) noexcept override {
    const TimePoint now = SteadyClock::now();
    for (std::size_t i = 0; i < delta.tokens.size(); ++i) {
      if (times_.size() < times_.capacity()) times_.push_back(now);
    }
  }
  void finish(Finish&& finish) noexcept override {
    end_ = SteadyClock::now();
    if (finish.reason != FinishReason::kLength) outcome_.error = to_string(finish.error);
    ended_.store(true, std::memory_order_release);
  }

  [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

  /// When it has ended.
  [[nodiscard]] Outcome outcome(TimePoint begin) const {
    Outcome one = outcome_;
    one.tokens = static_cast<std::int32_t>(times_.size());
    one.last = seconds_between(sent_, end_);
    one.ended_at = seconds_between(begin, end_);
    one.first = times_.empty() ? one.last : seconds_between(sent_, times_.front());
    for (std::size_t i = 1; i < times_.size(); ++i) {
      one.between.push_back(seconds_between(times_[i - 1], times_[i]));
    }
    return one;
  }

 private:
  Outcome outcome_;
  TimePoint sent_{};
  TimePoint end_{};
  std::vector<TimePoint> times_;
  std::atomic<bool> ended_{false};
};

Request request_of(const Arrival& arrival, std::size_t number) {
  Request request;
  constexpr std::size_t kSomeTokens = 1000;  // of every vocabulary here, past the special ones
  for (std::int32_t i = 0; i < arrival.prompt; ++i) {
    request.prompt_tokens.push_back(
        static_cast<TokenId>(300 + (number * 7919 + static_cast<std::size_t>(i)) % kSomeTokens));
  }
  request.max_tokens = arrival.output;
  request.sampling.ignore_eos = true;
  request.sampling.temperature = 0;
  request.request_class = arrival.cls;
  return request;
}

}  // namespace

std::vector<Arrival> poisson(const LoadShape& shape, std::uint64_t seed, std::size_t most) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> pause(shape.per_second);
  std::uniform_int_distribution<std::int32_t> prompt(shape.prompt_from, shape.prompt_to);
  std::uniform_int_distribution<std::int32_t> output(shape.output_from, shape.output_to);
  std::vector<Arrival> arrivals;
  for (double at = pause(random); at < shape.seconds && arrivals.size() < most;
       at += pause(random)) {
    arrivals.push_back({at, prompt(random), output(random), shape.cls});
  }
  return arrivals;
}

std::vector<Arrival> merge(const std::vector<Arrival>& one, const std::vector<Arrival>& other) {
  std::vector<Arrival> all(one);
  all.insert(all.end(), other.begin(), other.end());
  std::ranges::sort(all, {}, &Arrival::at);
  return all;
}

std::vector<Outcome> play(Pipeline& pipeline, const std::vector<Arrival>& arrivals) {
  return play_for(pipeline, arrivals, 1e9);
}

std::vector<Outcome> play_for(Pipeline& pipeline, const std::vector<Arrival>& arrivals,
                              double seconds) {
  struct Sent {
    std::shared_ptr<User> user;
    std::weak_ptr<ActiveRequest> request;
  };
  std::vector<Sent> all;
  const TimePoint begin = SteadyClock::now();
  for (const Arrival& arrival : arrivals) {
    if (arrival.at >= seconds) break;
    auto user = std::make_shared<User>(arrival);
    const auto request = pipeline.make_request(request_of(arrival, all.size()), user);
    all.push_back({user, request});
    const auto at =
        begin + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(arrival.at));
    std::this_thread::sleep_until(at);
    user->begin(SteadyClock::now());
    pipeline.submit(RequestTicket(request));
  }
  const auto left = [&] {
    return std::ranges::any_of(all, [](const Sent& one) { return !one.user->ended(); });
  };
  const auto poll = std::chrono::milliseconds(1);
  while (left() && seconds_between(begin, SteadyClock::now()) < seconds) {
    std::this_thread::sleep_for(poll);
  }
  std::vector<Outcome> outcomes;
  for (const Sent& one : all) {
    if (one.user->ended()) outcomes.push_back(one.user->outcome(begin));
  }
  for (const Sent& one : all) {
    if (const auto request = one.request.lock()) request->ask_to_end(EndCause::kCancel);
  }
  while (left()) std::this_thread::sleep_for(poll);
  for (const Outcome& one : outcomes) {
    if (!one.error.empty()) throw std::runtime_error("a request failed: " + one.error);
  }
  return outcomes;
}

std::vector<double> first_token_times(const std::vector<Outcome>& outcomes, RequestClass cls) {
  std::vector<double> times;
  for (const Outcome& one : outcomes) {
    if (one.cls == cls) times.push_back(one.first);
  }
  return times;
}

std::vector<double> latencies(const std::vector<Outcome>& outcomes) {
  std::vector<double> times;
  for (const Outcome& one : outcomes) times.push_back(one.last);
  return times;
}

std::int64_t tokens_of(const std::vector<Outcome>& outcomes, RequestClass cls) {
  std::int64_t tokens = 0;
  for (const Outcome& one : outcomes) tokens += one.cls == cls ? one.tokens : 0;
  return tokens;
}

}  // namespace weft::bench
