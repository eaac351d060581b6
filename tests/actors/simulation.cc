#include "weft/tests/actors/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/allocation_count.h"

namespace weft::test {
namespace {

/// Returns when all is read that was asked for before.
void wait_for_reads(PageFiles& files) {
  const auto last = std::make_shared<PageRead>(std::vector{PageKey{}}, std::vector{0});
  files.read(last);
  std::int32_t done = 0;
  Duration took{};
  while (!files.is_over(*last, done, took)) std::this_thread::yield();
}

}  // namespace

Simulation::Simulation(const SimulationOptions& options)
    : options_(options), random_(options.seed) {
  make_models();
  options.models > 0 ? make_host() : make_pipeline();
}

Simulation::~Simulation() {
  port_.reset();
  for (const auto& request : requests_) {
    EXPECT_TRUE(request->end()) << "a request was left without an end";
    request->active.reset();
  }
  EXPECT_EQ(changes_, 0U) << "somebody who wanted a model loaded or unloaded has heard nothing";
  if (budget_) {
    EXPECT_EQ(budget_->left(), budget_->bytes());
  }
}

/// In the one thread a rank's plan is delivered when it has not to wait, and a model's when it is
/// its turn.
bool Simulation::can_take(const DeterministicSystem::Receiver& to) const {
  // In the order in which the pipeline declares them: scheduler, first executor, detokenizer, the
  // other executors.
  const std::uint64_t id = to.id.value();
  const auto model = std::ranges::find(models_, to.system, &SimulatedModel::system);
  if (model == models_.end()) return true;
  if (model->ranks) {
    if (id == 2) return model->ranks->ready(0);
    const bool other = id > 3 && id < 3 + model->ranks->size();
    return !other || model->ranks->ready(static_cast<std::size_t>(id - 3));
  }
  const auto turns = model->turns.lock();
  return id != 2 || !turns || turns->has_turn();
}

/// Executors that have a plan would wait for their turn.
void Simulation::let_models_ask() {
  for (const SimulatedModel& model : models_) {
    const auto turns = model.turns.lock();
    if (turns) turns->ask(system_.has_message_for({.system = *model.system, .id = ActorId(2)}));
  }
}

Request Simulation::random_request() {
  Request request;
  std::size_t prompt = 1 + random(chance(0.1) ? 60 : 20);
  // Most begin like others: like one of a few texts, or like what has come out before, or are one.
  const std::uint64_t text = chance(0.6) ? 1 + random(3) : random_();
  if (chance(0.3) && !requests_.empty()) {
    const std::size_t recent = std::min<std::size_t>(20, requests_.size());
    const SimulatedRequest& before = *requests_[requests_.size() - 1 - random(recent)];
    request.prompt_tokens = before.request.prompt_tokens;
    const std::vector<TokenId>& output = before.choices.front().tokens;
    request.prompt_tokens.insert(request.prompt_tokens.end(), output.begin(), output.end());
    if (request.prompt_tokens.size() > 30) request.prompt_tokens.resize(30);
  }
  if (options_.encoder && !requests_.empty() && chance(0.4)) {
    const std::size_t recent = std::min<std::size_t>(6, requests_.size());
    request.prompt_tokens = requests_[requests_.size() - 1 - random(recent)]->request.prompt_tokens;
    prompt = request.prompt_tokens.size();
  }
  for (std::uint64_t i = request.prompt_tokens.size(); i < prompt; ++i) {
    const std::uint64_t hash = fake_hash(text, std::vector{static_cast<TokenId>(i)});
    request.prompt_tokens.push_back(static_cast<TokenId>(hash % kLetters));
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
  if (chance(0.3)) request.stop = {letters_of(static_cast<TokenId>(random(kLetters))), "bcd"};
  if (chance(0.1)) request.timeout = std::chrono::milliseconds(1 + random(40));
  if (host_ == nullptr) return request;
  request.model = models_[random(models_.size())].name;
  if (chance(0.1)) request.model += "-too";
  if (chance(0.1)) request.model.clear();  // the first
  if (chance(0.01)) request.model = "nobody";
  return request;
}

/// The content that one of the adapters' names has now; 0: no adapter.
std::uint64_t Simulation::random_adapter() {
  if (!options_.adapters || chance(0.2)) return 0;
  std::uint64_t& content = contents_.at(random(contents_.size()));
  if (content == 0 || chance(0.05)) content = ++newest_content_;
  return content;
}

void Simulation::arrive() {
  Request what = random_request();
  auto request = std::make_shared<SimulatedRequest>(std::move(what), random_adapter());
  if (SimulatedModel* const model = model_of(request->request)) {
    model->know(request->request, request->adapter);
  }
  request->active = port_->make_request(request->request, request);
  requests_.push_back(request);
  open_.push_back(request);
  port_->submit(RequestTicket(request->active));
}

void Simulation::end_one() {
  if (open_.empty()) return;
  SimulatedRequest& request = *open_[random(open_.size())];
  const EndCause cause = chance(0.7) ? EndCause::kCancel : EndCause::kStop;
  if (request.active->ask_to_end(cause)) request.asked = cause;
}

bool Simulation::deliver() {
  let_models_ask();
  const bool delivered = system_.run_random(
      random_, [this](const DeterministicSystem::Receiver& to) { return can_take(to); });
  const NoFailingAllocation own;
  std::erase_if(open_, [this](const std::shared_ptr<SimulatedRequest>& request) {
    if (!request->end()) return false;
    check(*request);
    request->active.reset();
    return true;
  });
  return delivered;
}

void Simulation::step() {
  ++events_;
  const std::uint64_t event = random(1000);
  if (event < 40) return arrive();
  const bool ranks = options_.ranks > 0;
  if (event < 50) {
    end_one();
  } else if (event < 60) {
    advance(std::chrono::microseconds(random(3000)));
  } else if (event < 62 && options_.failures && chance(ranks ? 0.5 : 0.1)) {
    fail_something();
  } else if (event < 65 && ranks) {
    FakeRanks& all = *models_.front().ranks;
    all.hang() ? all.time_out() : replace_lost_engine();
  } else if (event < 64 && options_.allocations) {
    fail_one_allocation();
  } else if (event == 65 && folder_ && host_ == nullptr) {
    reload();
  } else if (event >= 72 && event < 92 && options_.training) {
    change_training();
  } else if (event < 72 && host_ != nullptr) {
    event < 67 ? change_a_model() : static_cast<void>(work());
  } else if (!deliver() && !work()) {
    arrive();
  }
}

void Simulation::fail_something() {
  if (options_.ranks > 0 && chance(0.5)) {
    using Trouble = FakeRanks::Trouble;
    FakeRanks& ranks = *models_.front().ranks;
    ++failures_;
    const std::array kinds = {Trouble::kThrows, Trouble::kThrowsAfterwards, Trouble::kHangs};
    ranks.befall(random(ranks.size()), kinds.at(random(kinds.size())));
  } else if (host_ != nullptr && chance(0.3)) {
    (chance(0.5) ? load_fails_ : model_is_lost_) = true;
  } else {
    (options_.ranks == 0 && chance(0.5) ? device_fails_ : actor_fails_) = true;
  }
  // A failed actor is restarted only so often in so long a time.
  system_.advance(std::chrono::seconds(11));
}

void Simulation::replace_lost_engine() {
  if (port_->ready()) return;
  ++lost_engines_;
  settle();
  EXPECT_FALSE(port_->ready());
  port_.reset();
  make_pipeline();
}

/// The model goes, once all its requests have ended, and another of it finds its files.
void Simulation::reload() {
  settle();
  port_.reset();
  make_pipeline();
}

/// Lets time pass: for reads of files, too.
void Simulation::advance(Duration time) {
  for (const SimulatedModel& model : models_) {
    if (const auto files = model.files.lock()) wait_for_reads(*files);
  }
  system_.advance(time);
}

/// Lets one of the next allocations of the actors fail.
void Simulation::fail_one_allocation() {
  // Where the successor of what failed could not be constructed the engine would end, as it should.
  device_fails_ = actor_fails_ = model_is_lost_ = false;
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

void Simulation::settle() {
  if (task_) {
    is_paused_ = false;
    task_->resume();
  }
  for (std::size_t idle = 0; (!open_.empty() || changes_ > 0 || task_) && idle < 1000;) {
    if (deliver() || work()) {
      idle = 0;
      continue;
    }
    ++idle;
    if (options_.ranks > 0) models_.front().ranks->time_out();
    advance(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(open_.empty()) << open_.size() << " requests wait for ever";
  EXPECT_FALSE(task_) << "a training task does not end";
  if (task_) return;
  while (deliver() || work()) {
  }
  const EngineStats stats = port_->stats();
  EXPECT_EQ(stats.requests, 0U);
  EXPECT_EQ(stats.running, 0U);
  EXPECT_EQ(stats.waiting, 0U);
  if (models_.front().config.kv_layout == KvLayout::kPages) {
    EXPECT_EQ(stats.pages_free, stats.pages);
  }
}

std::uint64_t Simulation::pages_read() const {
  std::uint64_t sum = 0;
  for (const SimulatedModel& model : models_) sum += model.pages_read();
  return sum;
}

std::uint64_t Simulation::adapter_loads() const {
  std::uint64_t sum = 0;
  for (const SimulatedModel& model : models_) sum += model.adapter_loads;
  return sum;
}

SimulatedModel::Guesses Simulation::guesses() const {
  SimulatedModel::Guesses sum;
  for (const SimulatedModel& model : models_) {
    sum.entries += model.guesses.entries;
    sum.unsure += model.guesses.unsure;
    sum.drafts += model.guesses.drafts;
    sum.made += model.guesses.made;
    sum.right += model.guesses.right;
  }
  return sum;
}

SimulatedModel::States Simulation::states() const {
  SimulatedModel::States sum;
  for (const SimulatedModel& model : models_) {
    sum.kept += model.states.kept;
    sum.restored += model.states.restored;
    sum.from_host += model.states.from_host;
  }
  return sum;
}

void Simulation::note(std::uint64_t value) noexcept {
  digest_ = (digest_ ^ value) * 0xD6E8FEB86659FD93U;
  digest_ ^= digest_ >> 32U;
}

void Simulation::check(SimulatedRequest& request) {
  const Finish& end = *request.end();
  note(static_cast<std::uint64_t>(end.reason));
  note(static_cast<std::uint64_t>(end.error.code.value()));
  note(static_cast<std::uint64_t>(system_.clock().now().time_since_epoch().count()));
  for (const SimulatedRequest::Choice& choice : request.choices) {
    for (const TokenId token : choice.tokens) note(static_cast<std::uint64_t>(token));
    note(std::hash<std::string>()(choice.text));
  }
  const SimulatedModel* const model = model_of(request.request);
  if (model == nullptr) {
    EXPECT_EQ(end.error.code, EngineErrc::kNoSuchModel);
    return;
  }
  if (end.reason == FinishReason::kError) check_error(request, *model);
  if (end.reason == FinishReason::kCancelled) {
    EXPECT_EQ(request.asked, EndCause::kCancel);
  }
  request.check_outputs(model->fake());
  if (end.reason == FinishReason::kStop || end.reason == FinishReason::kLength) ++completed_;
}

void Simulation::check_error(const SimulatedRequest& request, const SimulatedModel& model) const {
  const Error& error = request.end()->error;
  const auto prompt = static_cast<std::int64_t>(request.request.prompt_tokens.size());
  if (error.code == EngineErrc::kContextLengthExceeded) {
    EXPECT_GT(prompt + std::max(request.request.max_tokens, 1), model.limits().context);
  } else if (error.code == EngineErrc::kDeadlineExceeded) {
    EXPECT_GT(request.request.timeout.count(), 0);
  } else if (error.code == EngineErrc::kDeviceFailed || error.code == EngineErrc::kInternal) {
    EXPECT_GT(failures_, 0U) << "failed by itself: " << to_string(error);
  } else if (error.code == EngineErrc::kNotReady && host_ == nullptr) {
    EXPECT_FALSE(port_->ready());
    EXPECT_TRUE(model.ranks) << "a device that is not cut is not lost";
  } else {
    EXPECT_TRUE(error.code == EngineErrc::kNeverFits || error.code == EngineErrc::kOverloaded ||
                is_of_models(error))
        << to_string(error);
  }
}

}  // namespace weft::test
