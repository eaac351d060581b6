#include "weft/tests/actors/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/tests/actors/checking_observer.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/allocation_count.h"

namespace weft::test {
namespace {

constexpr std::int64_t kVocabulary = kLetters;
constexpr TokenId kEnd = 7;
constexpr TokenId kStart = 3;  // which a decoder behind an encoder begins with
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

/// What one output must be.
struct Expected {
  std::vector<TokenId> tokens;  ///< without the end token
  std::string text;
  FinishReason reason = FinishReason::kLength;
};

Expected expected_output(const Request& request, std::uint64_t seed, std::int32_t max_tokens,
                         bool encoder, std::int64_t window) {
  Expected expected;
  std::vector<TokenId> context = request.prompt_tokens;
  if (encoder) context.push_back(kStart);
  while (std::cmp_less(expected.tokens.size(), max_tokens)) {
    const TokenId token = fake_token(seed, seen_by(context, window), kVocabulary);
    if (token == kEnd && !request.sampling.ignore_eos) {
      expected.reason = FinishReason::kStop;
      break;
    }
    expected.tokens.push_back(token);
    expected.text += letters_of(token);
    context.push_back(token);
    std::size_t hit = std::string::npos;
    for (const std::string& stop : request.stop) hit = std::min(hit, expected.text.find(stop));
    if (hit == std::string::npos) continue;
    expected.text.resize(hit);
    expected.reason = FinishReason::kStop;
    return expected;
  }
  return expected;
}

/// A device whose pages go to files in a folder, where another like it finds them.
class DeviceWithFiles final : public StepDevice {
 public:
  DeviceWithFiles(FakeDevice::Options options, const std::filesystem::path& folder)
      : device_(std::move(options)) {
    const PageBlock block = device_.page_block();
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 20U;
    files_ = std::make_shared<PageFiles>(
        PageFolder::open(folder, PageKey{}, block.bytes, kMostBytes).value(), PageKey{},
        std::vector{block}, device_.limits().pages);
  }
  ~DeviceWithFiles() override { files_->close(); }

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_.limits(); }
  void run(const Plan& plan, StepResult& result) override { device_.run(plan, result); }
  [[nodiscard]] std::shared_ptr<PageFiles> page_files() const override { return files_; }

 private:
  FakeDevice device_;
  std::shared_ptr<PageFiles> files_;
};

/// Returns when all is read that was asked for before.
void wait_for_reads(PageFiles& files) {
  const auto last = std::make_shared<PageRead>(std::vector{PageKey{}}, std::vector{0});
  files.read(last);
  std::int32_t done = 0;
  Duration took{};
  while (!files.is_over(*last, done, took)) std::this_thread::yield();
}

}  // namespace

class Simulation::Sink final : public RequestSink {
 public:
  struct Choice {
    std::string text;
    std::vector<TokenId> tokens;
  };

  explicit Sink(Request what) : request(std::move(what)) {
    choices.resize(static_cast<std::size_t>(request.sampling.n));
  }

  void deliver(const DeltaView& delta) noexcept override {
    const NoFailingAllocation own;
    EXPECT_FALSE(finish_) << "something came after the end";
    Choice& choice = choices.at(static_cast<std::size_t>(delta.choice));
    choice.text += delta.text;
    choice.tokens.insert(choice.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  }
  void finish(Finish&& finish) noexcept override {
    const NoFailingAllocation own;
    EXPECT_FALSE(finish_) << "a second end";
    finish_ = std::move(finish);
  }

  [[nodiscard]] const std::optional<Finish>& end() const { return finish_; }

  const Request request;
  std::vector<Choice> choices;
  std::shared_ptr<ActiveRequest> active;
  EndCause asked = EndCause::kNone;

 private:
  std::optional<Finish> finish_;
};

Simulation::Simulation(const SimulationOptions& options)
    : options_(options), random_(options.seed) {
  if (options.files) folder_.emplace();
  make_config();
  make_pipeline();
}

void Simulation::make_config() {
  limits_.page_tokens = std::array{1, 2, 4, 16}[random(4)];
  limits_.context = 48;
  limits_.rows = static_cast<std::int32_t>(1 + random(8));
  const bool slab = chance(0.2) && !folder_;
  limits_.step_tokens = static_cast<std::int32_t>(limits_.rows + 1 + static_cast<int>(random(40)));
  // It may be less than a page, and more than a context.
  if (options_.windows) limits_.window = static_cast<std::int64_t>(1 + random(random(60) + 1));
  const auto whole = limits_.pages_per_row();
  const std::int32_t all = limits_.rows * whole;
  const auto most = static_cast<std::uint64_t>(all);
  const auto least = static_cast<std::uint64_t>(limits_.held_pages_for(limits_.context));
  limits_.pages =
      slab ? limits_.rows * whole : static_cast<std::int32_t>(std::max(least, random(most) + 1));
  if (!folder_ && chance(0.5)) limits_.host_pages = static_cast<std::int32_t>(random(most) + 1);
  limits_.vocabulary = kVocabulary;
  if (options_.encoder) limits_.cross_pages = whole + static_cast<std::int32_t>(random(most));
  limits_.stages = options_.stages;

  config_.kv_layout = slab ? KvLayout::kSlab : KvLayout::kPages;
  config_.page_tokens = limits_.page_tokens;
  config_.admission = chance(0.3) ? AdmissionMode::kReserve : AdmissionMode::kOptimistic;
  config_.watermark = chance(0.5) ? 0.05 : 0;
  config_.decode_every = static_cast<std::int32_t>(1 + random(3));
  config_.cache_enabled = !chance(0.1) || folder_;
  config_.cache_share = chance(0.5) ? CacheShare::kAll : CacheShare::kKey;
  config_.max_queued_requests = 24;
  config_.max_queued_prompt_tokens = 2000;
  if (chance(0.15)) config_.policy = BatchPolicy::kStatic;
  if (chance(0.15)) {
    config_.policy = BatchPolicy::kWindow;
    config_.window = std::chrono::milliseconds(5);
  }
}

DeviceRanks Simulation::make_devices() {
  FakeDevice::Options device{.limits = limits_};
  // So slow that reading files is sooner.
  const int token = folder_ ? 2000 : 20;
  device.took = [token](const Plan& plan) {
    return std::chrono::microseconds(500 + token * tokens_of(plan));
  };
  device.run = [this](const Plan&) {
    if (!std::exchange(device_fails_, false)) return;
    ++failures_;
    throw std::runtime_error("the device fails");
  };
  if (folder_) {
    const auto with_files = std::make_shared<DeviceWithFiles>(std::move(device), folder_->path());
    files_ = with_files->page_files();
    return {with_files};
  }
  if (options_.ranks == 0) return {std::make_shared<FakeDevice>(std::move(device))};
  ranks_ = std::make_shared<FakeRanks>(
      FakeRanks::Options{std::move(device), options_.ranks, /*waits=*/false});
  return ranks_->devices();
}

void Simulation::make_pipeline() {
  PipelineOptions how;
  how.system = system_.options_for_other();
  how.own_threads = false;
  how.messages_per_activation = 1;
  how.observer = std::make_shared<CheckingObserver>([this] {
    if (!std::exchange(actor_fails_, false)) return;
    ++failures_;
    throw std::runtime_error("an actor fails");
  });
  ServedModel model = letter_model(limits_.context);
  model.end_tokens = {kEnd};
  model.has_encoder = options_.encoder;
  model.start_token = kStart;
  pipeline_ =
      std::make_unique<Pipeline>(system_.context().get_executor(), config_, std::move(model),
                                 std::vector<DeviceRanks>{make_devices()}, how);
  system_.context().run_all();
}

/// In the one thread a rank's plan is delivered when it has not to wait.
bool Simulation::can_take(ActorId to) const {
  if (!ranks_) return true;
  // In the order in which the pipeline declares them: scheduler, first executor, detokenizer, the
  // other executors.
  const std::uint64_t id = to.value();
  if (id == 2) return ranks_->ready(0);
  const bool other = id > 3 && id < 3 + ranks_->size();
  return !other || ranks_->ready(static_cast<std::size_t>(id - 3));
}

Simulation::~Simulation() {
  pipeline_.reset();
  for (const auto& sink : sinks_) {
    EXPECT_TRUE(sink->end()) << "a request was left without an end";
    sink->active.reset();
  }
}

Request Simulation::random_request() {
  Request request;
  std::size_t prompt = 1 + random(chance(0.1) ? 60 : 20);
  // Most begin like others: like one of a few texts, or like what has come out before, or are one.
  const std::uint64_t text = chance(0.6) ? 1 + random(3) : random_();
  if (chance(0.3) && !sinks_.empty()) {
    const std::size_t recent = std::min<std::size_t>(20, sinks_.size());
    const Sink& before = *sinks_[sinks_.size() - 1 - random(recent)];
    request.prompt_tokens = before.request.prompt_tokens;
    const std::vector<TokenId>& output = before.choices.front().tokens;
    request.prompt_tokens.insert(request.prompt_tokens.end(), output.begin(), output.end());
    if (request.prompt_tokens.size() > 30) request.prompt_tokens.resize(30);
  }
  if (options_.encoder && !sinks_.empty() && chance(0.4)) {
    const std::size_t recent = std::min<std::size_t>(6, sinks_.size());
    request.prompt_tokens = sinks_[sinks_.size() - 1 - random(recent)]->request.prompt_tokens;
    prompt = request.prompt_tokens.size();
  }
  for (std::uint64_t i = request.prompt_tokens.size(); i < prompt; ++i) {
    const std::uint64_t hash = fake_hash(text, std::vector{static_cast<TokenId>(i)});
    request.prompt_tokens.push_back(static_cast<TokenId>(hash % kVocabulary));
  }
  if (chance(0.2)) request.cache_salt = std::string(1, static_cast<char>('x' + random(2)));
  request.max_tokens = static_cast<std::int32_t>(random(28));
  request.request_class = chance(0.5) ? RequestClass::kChat : RequestClass::kBatch;
  request.priority = static_cast<std::int32_t>(random(3));
  request.client = std::string(1, static_cast<char>('a' + random(4)));
  request.sampling.seed = random_();
  request.sampling.ignore_eos = chance(0.5);
  if (chance(0.2)) request.sampling.n = static_cast<std::int32_t>(1 + random(4));
  if (chance(0.1)) request.sampling.best_of = request.sampling.n + 1;
  if (chance(0.1)) {
    request.sampling.n = 1;
    request.sampling.best_of = 0;
    request.sampling.temperature = 0;
    request.sampling.beams.num_beams = static_cast<std::int32_t>(2 + random(3));
  }
  if (chance(0.3)) request.stop = {letters_of(static_cast<TokenId>(random(kVocabulary))), "bcd"};
  if (chance(0.1)) request.timeout = std::chrono::milliseconds(1 + random(40));
  return request;
}

void Simulation::arrive() {
  auto sink = std::make_shared<Sink>(random_request());
  sink->active = pipeline_->make_request(sink->request, sink);
  sinks_.push_back(sink);
  open_.push_back(sink);
  pipeline_->submit(RequestTicket(sink->active));
}

void Simulation::end_one() {
  if (open_.empty()) return;
  Sink& sink = *open_[random(open_.size())];
  const EndCause cause = chance(0.7) ? EndCause::kCancel : EndCause::kStop;
  if (sink.active->ask_to_end(cause)) sink.asked = cause;
}

bool Simulation::deliver() {
  const bool delivered = system_.run_random(random_, [this](ActorId to) { return can_take(to); });
  const NoFailingAllocation own;
  std::erase_if(open_, [this](const std::shared_ptr<Sink>& sink) {
    if (!sink->end()) return false;
    check(*sink);
    sink->active.reset();  // each keeps the other
    return true;
  });
  return delivered;
}

void Simulation::step() {
  const std::uint64_t event = random(1000);
  if (event < 40) return arrive();
  if (event < 50) {
    end_one();
  } else if (event < 60) {
    advance(std::chrono::microseconds(random(3000)));
  } else if (event < 62 && options_.failures && chance(ranks_ ? 0.5 : 0.1)) {
    fail_something();
  } else if (event < 65 && ranks_) {
    ranks_->hang() ? ranks_->time_out() : replace_lost_engine();
  } else if (event < 64 && options_.allocations) {
    fail_one_allocation();
  } else if (event == 65 && folder_) {
    reload();
  } else if (!deliver()) {
    arrive();
  }
}

void Simulation::fail_something() {
  if (ranks_ && chance(0.5)) {
    using Trouble = FakeRanks::Trouble;
    ++failures_;
    const std::array kinds = {Trouble::kThrows, Trouble::kThrowsAfterwards, Trouble::kHangs};
    ranks_->befall(random(ranks_->size()), kinds.at(random(kinds.size())));
  } else {
    (!ranks_ && chance(0.5) ? device_fails_ : actor_fails_) = true;
  }
  // A failed actor is restarted only so often in so long a time.
  system_.advance(std::chrono::seconds(11));
}

void Simulation::replace_lost_engine() {
  if (pipeline_->ready()) return;
  ++lost_engines_;
  settle();
  EXPECT_FALSE(pipeline_->ready());
  pipeline_.reset();
  make_pipeline();
}

/// The model goes, once all its requests have ended, and another of it finds its files.
void Simulation::reload() {
  settle();
  pages_read_before_ = pages_read();
  files_.reset();
  pipeline_.reset();
  make_pipeline();
}

std::uint64_t Simulation::pages_read() const {
  return pages_read_before_ + (files_ ? files_->stats().read : 0);
}

/// Lets time pass: for reads of files, too.
void Simulation::advance(Duration time) {
  if (files_) wait_for_reads(*files_);
  system_.advance(time);
}

/// Lets one of the next allocations of the actors fail.
void Simulation::fail_one_allocation() {
  // Where the successor of what failed could not be constructed the engine would end, as it should.
  device_fails_ = actor_fails_ = false;
  // A suspended machine's clock jumps; a failed actor is restarted only so often in so long a time.
  system_.advance(chance(0.1) ? std::chrono::hours(1 + random(48)) : std::chrono::seconds(11));
  const std::size_t which = 1 + random(chance(0.5) ? 4 : 40);
  allocation_that_fails = which;
  for (std::size_t i = 0; i < which && allocation_that_fails > 0; ++i) {
    // Before the delivery, since what fails may end a request within it.
    ++failures_;
    if (!deliver()) break;
  }
  if (std::exchange(allocation_that_fails, 0) == 0) ++failed_allocations_;
}

void Simulation::note(std::uint64_t value) noexcept {
  digest_ = (digest_ ^ value) * 0xD6E8FEB86659FD93U;
  digest_ ^= digest_ >> 32U;
}

void Simulation::settle() {
  for (std::size_t idle = 0; !open_.empty() && idle < 1000;) {
    if (deliver()) {
      idle = 0;
      continue;
    }
    ++idle;
    if (ranks_) ranks_->time_out();
    advance(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(open_.empty()) << open_.size() << " requests wait for ever";
  while (deliver()) {
  }
  const EngineStats stats = pipeline_->stats();
  EXPECT_EQ(stats.requests, 0U);
  EXPECT_EQ(stats.running, 0U);
  EXPECT_EQ(stats.waiting, 0U);
  if (config_.kv_layout == KvLayout::kPages) {
    EXPECT_EQ(stats.pages_free, stats.pages);
  }
}

void Simulation::check(Sink& sink) {
  const Finish& end = *sink.end();
  note(static_cast<std::uint64_t>(end.reason));
  note(static_cast<std::uint64_t>(end.error.code.value()));
  note(static_cast<std::uint64_t>(system_.clock().now().time_since_epoch().count()));
  for (const Sink::Choice& choice : sink.choices) {
    for (const TokenId token : choice.tokens) note(static_cast<std::uint64_t>(token));
    note(std::hash<std::string>()(choice.text));
  }
  const Request& request = sink.request;
  if (end.reason == FinishReason::kError) {
    const auto& code = end.error.code;
    const auto prompt = static_cast<std::int64_t>(request.prompt_tokens.size());
    if (code == EngineErrc::kContextLengthExceeded) {
      EXPECT_GT(prompt + std::max(request.max_tokens, 1), limits_.context);
    } else if (code == EngineErrc::kDeadlineExceeded) {
      EXPECT_GT(request.timeout.count(), 0);
    } else if (code == EngineErrc::kDeviceFailed || code == EngineErrc::kInternal) {
      EXPECT_GT(failures_, 0U) << "failed by itself: " << to_string(end.error);
    } else if (code == EngineErrc::kNotReady) {
      EXPECT_FALSE(pipeline_->ready());
      EXPECT_TRUE(ranks_) << "a device that is not cut is not lost";
    } else {
      EXPECT_TRUE(code == EngineErrc::kNeverFits || code == EngineErrc::kOverloaded)
          << to_string(end.error);
    }
  } else if (end.reason == FinishReason::kCancelled) {
    EXPECT_EQ(sink.asked, EndCause::kCancel);
  }
  if (request.sampling.beams.num_beams > 1 || request.sampling.best_of > 0) return;
  const std::size_t prompt = options_.encoder ? 1 : request.prompt_tokens.size();
  const auto room = static_cast<std::int32_t>(limits_.context - static_cast<std::int64_t>(prompt));
  const std::int32_t most = request.max_tokens > 0 ? request.max_tokens : room;
  for (std::size_t i = 0; i < sink.choices.size(); ++i) {
    const Expected expected = expected_output(request, *request.sampling.seed + i * kGolden, most,
                                              options_.encoder, limits_.window);
    const Sink::Choice& choice = sink.choices[i];
    const bool whole = end.reason != FinishReason::kError &&
                       end.reason != FinishReason::kCancelled && sink.asked == EndCause::kNone;
    if (whole) {
      EXPECT_EQ(choice.tokens, expected.tokens)
          << std::hex << *request.sampling.seed << std::dec << " choice " << i << " of "
          << request.sampling.n << ", prompt " << request.prompt_tokens.size() << ", pages of "
          << limits_.page_tokens << ", " << pipeline_->stats().preemptions
          << " preemptions so far, layout " << static_cast<int>(config_.kv_layout) << ", admission "
          << static_cast<int>(config_.admission) << ", policy " << static_cast<int>(config_.policy);
      EXPECT_EQ(choice.text, expected.text);
      EXPECT_EQ(end.choices.at(i).reason, expected.reason);
    } else {
      // What was held back for a stop string is given at the end, when none came.
      std::string all;
      for (const TokenId token : expected.tokens) all += letters_of(token);
      EXPECT_TRUE(all.starts_with(choice.text)) << choice.text << " of " << all;
    }
  }
  if (end.reason == FinishReason::kStop || end.reason == FinishReason::kLength) ++completed_;
}

}  // namespace weft::test
