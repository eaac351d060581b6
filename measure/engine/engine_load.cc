#include "weft/measure/engine/engine_load.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "weft/actors/loaded_model.h"
#include "weft/actors/pipeline.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kProgressEvery{200};
// What touches memory for the first time: a prompt and some steps, of as many sequences as will run
// at once. A row that is new to its memory waits for the system to clear it.
constexpr Arrival kWarmUp{0, 16, 4, RequestClass::kChat};

Load warm_up_for(const Load& load, const DeviceLimits& limits, std::size_t devices) {
  const auto rows = devices * static_cast<std::size_t>(limits.rows);
  const std::size_t most = load.at_once > 0 ? static_cast<std::size_t>(load.at_once) : rows;
  const std::size_t wanted = std::min({rows, most, load.arrivals.size()});
  return {std::vector<Arrival>(std::max(wanted, devices), kWarmUp), 0};
}

double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

TimePoint after(TimePoint begin, double seconds) {
  return begin + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// Told when a user's request has ended.
class Endings {
 public:
  void note() {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    changed_.notify_one();
  }
  /// Waits until so many have ended or it is `until`.
  std::size_t wait_until(TimePoint until, std::size_t enough) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return count_ >= enough; });
    return count_;
  }
  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

/// Notes when its request's tokens come. Read once it has ended.
class User final : public RequestSink {
 public:
  User(const Arrival& arrival, std::shared_ptr<Endings> endings)
      : arrival_(arrival), endings_(std::move(endings)) {
    times_.reserve(static_cast<std::size_t>(arrival.output));
  }

  /// Before its request is submitted.
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

/// Prompts that no two requests share.
class Prompts {
 public:
  Prompts(const ServedModel& model, std::uint64_t seed) : random_(seed) {
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(model.vocabulary),
                                             model.tokenizer.vocabulary_size());
    for (std::size_t id = 0; id < count; ++id) {
      const auto token = static_cast<TokenId>(id);
      if (!model.tokenizer.is_special(token)) tokens_.push_back(token);
    }
  }

  std::vector<TokenId> next(std::int32_t length) {
    std::uniform_int_distribution<std::size_t> any(0, tokens_.size() - 1);
    std::vector<TokenId> prompt(static_cast<std::size_t>(length));
    for (TokenId& token : prompt) token = tokens_[any(random_)];
    return prompt;
  }

 private:
  std::mt19937_64 random_;
  std::vector<TokenId> tokens_;
};

/// Plays one load.
class Player {
 public:
  Player(Pipeline& pipeline, Prompts& prompts, const EngineRunOptions& options)
      : pipeline_(pipeline), prompts_(prompts), options_(options) {}

  std::vector<Outcome> play(const Load& load) {
    prepare(load);
    begin_ = SteadyClock::now();
    const bool bounded = load.at_once > 0;
    const bool closed_loop = bounded && load.arrivals.back().at <= 0;
    std::size_t sent = 0;
    for (; sent < users_.size() && !stopped(); ++sent) {
      const TimePoint due = after(begin_, load.arrivals[sent].at);
      if (!wait(due, 0)) break;
      const auto most = static_cast<std::size_t>(load.at_once);
      if (bounded && sent >= most && !wait(TimePoint::max(), sent - most + 1)) break;
      const TimePoint now = SteadyClock::now();
      users_[sent]->begin(closed_loop ? now : due, now);
      // Made here and not before: then the pipeline chooses where it runs.
      requests_.push_back(pipeline_.make_request(std::move(asked_[sent]), users_[sent]));
      pipeline_.submit(RequestTicket(requests_.back()));
    }
    users_.resize(sent);
    if (sent > 0 && !wait(TimePoint::max(), sent)) cancel();
    std::vector<Outcome> outcomes;
    for (const auto& user : users_) outcomes.push_back(user->outcome(begin_));
    return outcomes;
  }

  [[nodiscard]] TimePoint began() const noexcept { return begin_; }

 private:
  /// Drawing prompts takes time that the load's clock must not see.
  void prepare(const Load& load) {
    for (const Arrival& arrival : load.arrivals) {
      Request request;
      request.prompt_tokens = prompts_.next(arrival.prompt);
      request.max_tokens = arrival.output;
      request.sampling.ignore_eos = true;
      request.sampling.temperature = 0;
      request.request_class = arrival.cls;
      users_.push_back(std::make_shared<User>(arrival, endings_));
      asked_.push_back(std::move(request));
    }
  }

  [[nodiscard]] bool stopped() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }

  /// Until `until`, or until `enough` have ended where that is not 0. False when it was stopped.
  bool wait(TimePoint until, std::size_t enough) {
    const std::size_t needed = enough == 0 ? SIZE_MAX : enough;
    while (true) {
      const TimePoint now = SteadyClock::now();
      const std::size_t done = endings_->wait_until(std::min(until, now + kProgressEvery), needed);
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
  Prompts& prompts_;
  const EngineRunOptions& options_;
  const std::shared_ptr<Endings> endings_ = std::make_shared<Endings>();
  std::vector<std::shared_ptr<User>> users_;
  std::vector<Request> asked_;
  std::vector<std::shared_ptr<ActiveRequest>> requests_;
  TimePoint begin_{};
};

Result<void> check_fits(const Load& load, const DeviceLimits& limits) {
  for (const Arrival& arrival : load.arrivals) {
    const std::int64_t tokens = std::int64_t{arrival.prompt} + arrival.output;
    if (tokens > limits.context) {
      return Error{MeasureErrc::kBadLoad, "a request of " + std::to_string(arrival.prompt) + " + " +
                                              std::to_string(arrival.output) +
                                              " tokens does not fit a context of " +
                                              std::to_string(limits.context)};
    }
  }
  return {};
}

std::size_t count_threads() {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return error ? 0 : count;
}

}  // namespace

Result<EngineRun> run_engine(const MeasuredModel& model, const Config& config, const Load& load,
                             std::uint64_t seed, const EngineRunOptions& options) {
  auto loaded = load_served(model.opened, model.tokenizer, config);
  if (!loaded) return loaded.error();
  EngineRun run;
  run.limits = loaded->devices.front()->limits();
  run.devices = loaded->devices.size();
  const auto fits = check_fits(load, run.limits);
  if (!fits) return fits.error();
  std::vector<std::shared_ptr<StepMeter>> meters;
  for (auto& device : loaded->devices) {
    meters.push_back(std::make_shared<StepMeter>(options.wrap ? options.wrap(device) : device));
    device = meters.back();
  }
  Prompts prompts(loaded->model, seed);
  try {
    Config bounds = config;
    bounds.max_queued_requests =
        std::max(config.max_queued_requests, static_cast<std::int32_t>(load.arrivals.size()));
    for (const Arrival& arrival : load.arrivals) bounds.max_queued_prompt_tokens += arrival.prompt;
    const RunningPipeline pipeline(bounds, *std::move(loaded));
    const EngineRunOptions quietly{};
    static_cast<void>(
        Player(*pipeline, prompts, quietly).play(warm_up_for(load, run.limits, run.devices)));
    run.threads = count_threads();
    Player player(*pipeline, prompts, options);
    run.outcomes = player.play(load);
    run.began = player.began();
  } catch (const std::exception& failure) {
    // Threads, of which instances want many, or memory.
    return Error{MeasureErrc::kNoEngine, failure.what()};
  }
  for (const auto& meter : meters) {
    for (const StepRecord& record : meter->records()) {
      if (record.began >= run.began) run.steps.push_back(record);
    }
  }
  std::ranges::sort(run.steps, {}, &StepRecord::began);
  return run;
}

double mean_batch(const std::vector<StepRecord>& steps) {
  double seconds = 0;
  double sum = 0;
  for (const StepRecord& step : steps) {
    seconds += step.seconds();
    sum += step.seconds() * step.sequences();
  }
  return seconds > 0 ? sum / seconds : 0;
}

}  // namespace weft::measure
