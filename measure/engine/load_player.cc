#include "weft/measure/engine/load_player.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/actors/pipeline.h"

namespace weft::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kProgressEvery{200};

double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

TimePoint after(TimePoint begin, double seconds) {
  return begin + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// Counts the requests that have ended.
class Endings {
 public:
  void note() {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    changed_.notify_one();
  }
  /// Waits until `enough` requests have ended or it is `until`.
  std::size_t wait_until(TimePoint until, std::size_t enough) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return count_ >= enough; });
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

/// Notes when the tokens of its request come. Read it once the request has ended.
class User final : public RequestSink {
 public:
  User(const Arrival& arrival, std::shared_ptr<Endings> endings)
      : arrival_(arrival), endings_(std::move(endings)) {
    times_.reserve(static_cast<std::size_t>(arrival.output));
  }

  /// Called before its request is submitted.
  void begin(TimePoint due, TimePoint now) {
    due_ = due;
    sent_ = now;
  }

  void deliver(const DeltaView& delta) noexcept override {
    const TimePoint now = SteadyClock::now();
    for (std::size_t i = 0; i < delta.tokens.size(); ++i) {
      if (times_.size() < times_.capacity()) times_.push_back(now);
    }
  }
  void finish(Finish&& finish) noexcept override {
    end_ = SteadyClock::now();
    finish_ = std::move(finish);
    endings_->note();
  }

  [[nodiscard]] bool was_cancelled() const noexcept {
    return finish_.reason == FinishReason::kCancelled;
  }

  [[nodiscard]] Outcome outcome(TimePoint begin) const {
    Outcome one;
    one.asked = arrival_;
    if (finish_.reason == FinishReason::kError || finish_.reason == FinishReason::kCancelled) {
      one.error = finish_.error.code.message();
    }
    one.sent = seconds_between(begin, sent_);
    one.began = seconds_between(begin, due_);
    one.prompt = finish_.usage.prompt_tokens;
    one.output = finish_.usage.output_tokens;
    one.end = seconds_between(due_, end_);
    one.came.reserve(times_.size());
    for (const TimePoint time : times_) one.came.push_back(seconds_between(due_, time));
    return one;
  }

 private:
  const Arrival arrival_;
  const std::shared_ptr<Endings> endings_;
  TimePoint due_{};
  TimePoint sent_{};
  TimePoint end_{};
  std::vector<TimePoint> times_;
  Finish finish_;
};

/// One load while it is played.
class PlayedLoad {
 public:
  PlayedLoad(Pipeline& pipeline, const PlayOptions& options)
      : pipeline_(pipeline), options_(options) {}

  /// All prompts are drawn before the load begins, because drawing takes time that the load's clock
  /// must not count.
  void add(const Arrival& arrival, std::vector<TokenId> prompt) {
    Request request;
    request.prompt_tokens = std::move(prompt);
    request.max_tokens = arrival.output;
    request.sampling.ignore_eos = true;
    request.sampling.temperature = 0;
    request.request_class = arrival.cls;
    users_.push_back(std::make_shared<User>(arrival, endings_));
    asked_.push_back(std::move(request));
  }

  /// Sends the requests at their times after `begin` and waits until all have ended.
  std::vector<Outcome> run(const Load& load, TimePoint begin) {
    if (options_.seconds > 0) last_ = after(begin, options_.seconds);
    const bool bounded = load.at_once > 0;
    const bool closed_loop = bounded && load.arrivals.back().at <= 0;
    std::size_t sent = 0;
    for (; sent < users_.size() && !stopped(); ++sent) {
      const TimePoint due = after(begin, load.arrivals[sent].at);
      if (!wait(due, 0)) break;
      const auto most = static_cast<std::size_t>(load.at_once);
      if (bounded && sent >= most && !wait(TimePoint::max(), sent - most + 1)) break;
      const TimePoint now = SteadyClock::now();
      users_[sent]->begin(closed_loop ? now : due, now);
      // Made here, not earlier, so that the pipeline chooses where it runs.
      requests_.push_back(pipeline_.make_request(std::move(asked_[sent]), users_[sent]));
      pipeline_.submit(RequestTicket(requests_.back()));
    }
    users_.resize(sent);
    if (sent > 0 && !wait(TimePoint::max(), sent)) cancel();
    std::vector<Outcome> outcomes;
    for (const auto& user : users_) outcomes.push_back(user->outcome(begin));
    return outcomes;
  }

 private:
  [[nodiscard]] bool stopped() const {
    return (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) ||
           SteadyClock::now() >= last_;
  }

  /// Waits until `until`, or until `enough` requests have ended where `enough` is not 0. Returns
  /// false when stopped.
  bool wait(TimePoint until, std::size_t enough) {
    const std::size_t needed = enough == 0 ? SIZE_MAX : enough;
    while (true) {
      const TimePoint now = SteadyClock::now();
      const std::size_t done =
          endings_->wait_until(std::min({until, last_, now + kProgressEvery}), needed);
      if (options_.progress) options_.progress(done, users_.size());
      if (stopped()) return false;
      if (done >= needed || SteadyClock::now() >= until) return true;
    }
  }

  void cancel() {
    for (const auto& request : requests_) request->ask_to_end(EndCause::kCancel);
    endings_->wait_until(TimePoint::max(), requests_.size());
    std::erase_if(users_, [](const auto& user) { return user->was_cancelled(); });
  }

  Pipeline& pipeline_;
  const PlayOptions& options_;
  TimePoint last_ = TimePoint::max();
  const std::shared_ptr<Endings> endings_ = std::make_shared<Endings>();
  std::vector<std::shared_ptr<User>> users_;
  std::vector<Request> asked_;
  std::vector<std::shared_ptr<ActiveRequest>> requests_;
};

}  // namespace

LoadPlayer::LoadPlayer(Pipeline& pipeline, std::uint64_t seed)
    : pipeline_(pipeline), random_(seed) {
  const ServedModel& model = *pipeline.model();
  const auto all = static_cast<std::size_t>(model.vocabulary);
  const auto count = model.tokenizer.exists()
                         ? std::min<std::size_t>(all, model.tokenizer.vocabulary_size())
                         : all;
  for (std::size_t id = 0; id < count; ++id) {
    const auto token = static_cast<TokenId>(id);
    if (!model.tokenizer.is_special(token)) tokens_.push_back(token);
  }
}

std::vector<Outcome> LoadPlayer::play(const Load& load, const PlayOptions& options) {
  PlayedLoad played(pipeline_, options);
  for (const Arrival& arrival : load.arrivals) {
    played.add(arrival, draw_prompt(arrival.prompt, load.shared));
  }
  began_ = SteadyClock::now();
  return played.run(load, began_);
}

std::vector<TokenId> LoadPlayer::draw_prompt(std::int32_t length, double shared) {
  std::uniform_int_distribution<std::size_t> any(0, tokens_.size() - 1);
  const auto alike = static_cast<std::size_t>(shared * length);
  while (common_.size() < alike) common_.push_back(tokens_[any(random_)]);
  std::vector<TokenId> prompt(common_.begin(),
                              common_.begin() + static_cast<std::ptrdiff_t>(alike));
  while (std::cmp_less(prompt.size(), length)) prompt.push_back(tokens_[any(random_)]);
  return prompt;
}

}  // namespace weft::measure
