#include "weft/tests/schedule/scheduler_fixture.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weft::test {
namespace {

struct TestGroup final : Group {
  TestGroup(GroupSpec what, GroupOutcome& of, std::size_t& count)
      : Group(std::move(what)), outcome(of), alive_objects(count) {
    ++alive_objects;
  }
  ~TestGroup() override { --alive_objects; }
  GroupOutcome& outcome;
  std::size_t& alive_objects;
};

class NoReader final : public ActivationReader {
 public:
  void read(const TokenActivations& /*token*/) override {}
};

class FakeForced final : public ForcedTokens {
 public:
  void advance(std::span<const TokenId> tokens) noexcept override { last_ = tokens.back(); }
  std::span<const TokenId> next() noexcept override { return next_ = forced_behind(last_); }

 private:
  TokenId last_ = kNoToken;
  std::vector<TokenId> next_;
};

class FakeConstraint final : public TokenConstraint {
 public:
  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override { return nullptr; }
  [[nodiscard]] std::unique_ptr<ForcedTokens> follow() const override {
    return std::make_unique<FakeForced>();
  }
};

std::uint64_t seed_of(const Ask& ask, std::int32_t sequence) {
  return ask.seed + static_cast<std::uint64_t>(sequence) * 0x9E3779B97F4A7C15U;
}

}  // namespace

std::vector<TokenId> forced_behind(TokenId token) {
  std::vector<TokenId> forced(token % 3 == 0 ? static_cast<std::size_t>(token / 3 % 8) : 0);
  for (TokenId& one : forced) one = token = (token + 7) % kVocabulary;
  return forced;
}

void SchedulerFixture::start(const SchedulerOptions& options,
                             std::function<Duration(const Plan&)> took, Duration swap) {
  options_ = options;
  adapters_.clear();
  uses_.clear();
  FakeDevice::Options device{.limits = options.limits};
  device.took = std::move(took);
  device.swap = swap;
  device.right_guesses = right_guesses_;
  device.guess_source = guess_source_;
  device.drafting = drafting_;
  device.adapter_steps = adapter_steps_;
  device_ = std::make_unique<FakeDevice>(std::move(device));
  scheduler_ = std::make_unique<Scheduler>(options, static_cast<SchedulerListener&>(*this));
}

void SchedulerFixture::start_with_files(SchedulerOptions options,
                                        const std::filesystem::path& folder,
                                        std::function<Duration(const Plan&)> took) {
  if (files_) files_->close();
  options.files = nullptr;
  options_.files = nullptr;
  scheduler_ = nullptr;
  files_ = nullptr;
  start(options, std::move(took));
  scheduler_ = nullptr;
  const PageBlock block = device_->page_block();
  files_ = std::make_shared<PageFiles>(
      PageFolder::open(folder, PageKey{}, block.bytes, file_bytes_).value(), PageKey{},
      std::make_unique<HostPageMemory>(std::vector{block}), options.limits.pages);
  options.files = files_;
  options_ = options;
  scheduler_ = std::make_unique<Scheduler>(options, static_cast<SchedulerListener&>(*this));
}

void SchedulerFixture::TearDown() {
  if (!scheduler_ || HasFatalFailure()) return;
  for (GroupOutcome& outcome : outcomes_) end(outcome, GroupEnd::kCancelled);
  while (!planned_.empty()) run();
  scheduler_->check_invariants();
  const SchedulerStats stats = scheduler_->stats();
  EXPECT_EQ(groups_, 0U) << "ended, and kept";
  EXPECT_EQ(stats.running, 0U);
  EXPECT_EQ(stats.waiting, 0U);
  if (options_.layout == KvLayout::kPages) {
    EXPECT_EQ(stats.pages_free, options_.limits.pages);
  }
  for (const GroupOutcome& outcome : outcomes_) EXPECT_TRUE(outcome.end) << outcome.number;
}

GroupOutcome& SchedulerFixture::submit(const Ask& ask) {
  GroupOutcome& outcome = outcomes_.emplace_back();
  outcome.ask = ask;
  outcome.number = outcomes_.size();
  const std::uint64_t text = ask.text > 0 ? ask.text : outcome.number;
  const auto write = [&](std::vector<TokenId>& to, std::int32_t first, std::int32_t count) {
    for (std::int32_t i = 0; i < count; ++i) {
      const std::uint64_t hash = fake_hash(text, std::vector<TokenId>{first + i});
      to.push_back(static_cast<TokenId>(hash % kVocabulary));
    }
  };
  if (ask.continues > 0) {
    const GroupOutcome& before = outcomes_.at(ask.continues - 1);
    outcome.prompt = before.prompt;
    outcome.prompt.insert(outcome.prompt.end(), before.outputs[0].begin(), before.outputs[0].end());
  }
  write(outcome.prompt, 0, ask.prompt);
  write(outcome.encoder_input, 10'000, ask.encoder_input);
  SamplingParams sampling;
  sampling.n = ask.beams > 1 ? 1 : ask.sequences;
  sampling.beams.num_beams = ask.beams;
  sampling.top_logprobs = ask.beams > 1 ? 2 * ask.beams : 0;
  sampling.logprobs = ask.logprobs;
  if (ask.has_penalty) sampling.penalties.presence = 1;
  if (ask.has_forced) sampling.constraint = std::make_shared<const FakeConstraint>();
  GroupSpec spec;
  spec.prompt = outcome.prompt;
  spec.encoder_input = outcome.encoder_input;
  spec.sampling = std::make_shared<const SamplingParams>(std::move(sampling));
  spec.sequences = std::max(ask.sequences, ask.beams);
  spec.max_tokens = ask.max_tokens;
  spec.most_guesses = ask.most_guesses;
  spec.seed = ask.seed;
  spec.end_tokens = ask.end_tokens;
  if (ask.long_context) spec.traits.kv.angles = AngleSet::kLong;
  if (!ask.domain.empty()) spec.cache_domain = std::make_shared<const std::string>(ask.domain);
  if (ask.adapter > 0) {
    spec.adapter = fake_prepared(ask.adapter);
    spec.traits.kv.adapter = spec.adapter->id;
  }
  if (ask.has_reader) spec.reader = std::make_shared<NoReader>();
  EXPECT_EQ(scheduler_->never_fits(spec), "");
  outcome.outputs.resize(static_cast<std::size_t>(spec.sequences));
  outcome.forced.resize(outcome.outputs.size());
  auto group = std::make_unique<TestGroup>(std::move(spec), outcome, groups_);
  group->cls = ask.cls;
  group->priority = ask.priority;
  group->client = ClientId(ask.client);
  group->order = outcome.number;
  outcome.group = group.get();
  scheduler_->submit(std::move(group), now_);
  return outcome;
}

void SchedulerFixture::end(GroupOutcome& outcome, GroupEnd how) {
  if (outcome.group != nullptr) scheduler_->end(*outcome.group, how);
  EXPECT_TRUE(outcome.end);
}

void SchedulerFixture::end_sequence(GroupOutcome& outcome, std::int32_t sequence) {
  if (outcome.group != nullptr) scheduler_->end_sequence(*outcome.group, sequence);
}

bool SchedulerFixture::plan(std::optional<Duration> budget) {
  if (ticks_.empty()) {
    ticks_.push_back(std::make_unique<Tick>());
    ticks_.back()->reserve(options_.limits);
  }
  if (!scheduler_->plan(now_, *ticks_.back(), budget)) return false;
  planned_.push_back(std::move(ticks_.back()));
  ticks_.pop_back();
  check(*planned_.back());
  return true;
}

void SchedulerFixture::amend() {
  scheduler_->amend(now_, *planned_.back());
  check(*planned_.back());
}

void SchedulerFixture::run() {
  auto tick = std::move(planned_.front());
  planned_.pop_front();
  uses_.erase(tick->plan.tick);
  device_->run(tick->plan, tick->result);
  if (on_training_ && tick->plan.training_pieces > 0) {
    tick->result.training = on_training_(tick->plan);
  }
  scheduler_->complete(*tick);
  scheduler_->check_invariants();
  ticks_.push_back(std::move(tick));
}

void SchedulerFixture::lose() {
  auto tick = std::move(planned_.front());
  planned_.pop_front();
  uses_.erase(tick->plan.tick);
  scheduler_->fail(*tick, {});
  scheduler_->check_invariants();
  ticks_.push_back(std::move(tick));
}

bool SchedulerFixture::tick() {
  if (!plan()) return false;
  while (!planned_.empty()) run();
  return true;
}

void SchedulerFixture::finish_all() {
  for (std::size_t ticks = 0; ticks < 100'000; ++ticks) {
    const bool more = plan();
    if (planned_.empty()) return;
    if (!more || std::cmp_greater(planned_.size(), options_.limits.stages)) run();
  }
  ADD_FAILURE() << "it goes on for ever";
}

const PlanEntry* SchedulerFixture::entry_of(const GroupOutcome& outcome,
                                            std::size_t sequence) const {
  if (outcome.group == nullptr) return nullptr;
  const std::int32_t row = outcome.group->sequences[sequence].row;
  const auto found = std::ranges::find(newest().entries, row, &PlanEntry::row);
  return found == newest().entries.end() ? nullptr : &*found;
}

std::vector<TokenId> SchedulerFixture::alone(const GroupOutcome& outcome) const {
  std::vector<TokenId> outputs;
  for (std::int32_t i = 0; i < outcome.ask.max_tokens; ++i) {
    outputs.push_back(token_behind(outcome, outputs, outcome.ask.seed));
  }
  return outputs;
}

TokenId SchedulerFixture::token_behind(const GroupOutcome& outcome,
                                       std::span<const TokenId> outputs, std::uint64_t seed) const {
  std::vector<TokenId> decoder = outcome.prompt;
  decoder.insert(decoder.end(), outputs.begin(), outputs.end());
  const auto seen = seen_by(decoder, options_.limits.window);
  std::vector<TokenId> context = outcome.encoder_input;
  context.insert(context.end(), seen.begin(), seen.end());
  const std::uint64_t state = options_.limits.has_state() ? fake_state(decoder) : 0;
  const std::uint64_t adapter =
      outcome.ask.adapter > 0 ? fake_adapter(fake_prepared(outcome.ask.adapter)->id) : 0;
  return fake_token(seed ^ state ^ adapter, context, kVocabulary);
}

GroupOutcome& SchedulerFixture::of(const Group& group) {
  return static_cast<const TestGroup&>(group).outcome;
}

void SchedulerFixture::on_begin(Group& group) {
  ++of(group).begun;
  of(group).cached = group.cached;
}

void SchedulerFixture::on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                                std::span<const TokenLogprob> /*top*/, SequenceEnd end) {
  GroupOutcome& outcome = of(group);
  EXPECT_FALSE(outcome.end) << "a token after the end";
  auto& output = outcome.outputs[static_cast<std::size_t>(sequence)];
  auto& forced = outcome.forced[static_cast<std::size_t>(sequence)];
  const TokenId expected = forced.empty()
                               ? token_behind(outcome, output, seed_of(outcome.ask, sequence))
                               : forced.back();
  EXPECT_EQ(result.token, expected)
      << "group " << outcome.number << ", sequence " << sequence << ", token " << output.size();
  output.push_back(result.token);
  if (!forced.empty()) {
    forced.pop_back();
  } else if (outcome.ask.has_forced && !outcome.ask.logprobs && options_.jump_ahead) {
    forced = forced_behind(result.token);
    if (forced.size() < 2) forced.clear();
    std::ranges::reverse(forced);
  }
  const bool stops =
      std::ranges::find(outcome.ask.end_tokens, result.token) != outcome.ask.end_tokens.end();
  const bool full = std::cmp_equal(output.size(), outcome.ask.max_tokens);
  EXPECT_EQ(end, stops ? SequenceEnd::kStop : full ? SequenceEnd::kLength : SequenceEnd::kNone);
}

void SchedulerFixture::on_end(Group& group, GroupEnd how, const Error& error) {
  GroupOutcome& outcome = of(group);
  EXPECT_FALSE(outcome.end) << "a second end";
  outcome.end = how;
  outcome.error = error;
  outcome.ended_as = ended_++;
  outcome.group = nullptr;
  if (how != GroupEnd::kDone || !group.beams) return;
  group.beams->finish();
  const auto best = group.beams->best(1);
  ASSERT_EQ(best.size(), 1U);
  outcome.outputs.assign(1, {best[0].tokens.begin(), best[0].tokens.end()});
}

/// No plan without a result uses a place that the newest plan loads.
void SchedulerFixture::check_adapters(const Plan& plan) {
  std::set<std::uint64_t>& used = uses_[plan.tick];
  used.clear();
  for (const PlanEntry& entry : plan.entries) {
    const Group& group = *scheduler_->row_use(entry.row).group;
    if (group.spec.adapter) used.insert(fake_adapter(group.spec.adapter->id));
  }
  for (const PlanAdapter& one : plan.adapters) {
    EXPECT_LT(one.place, options_.limits.adapter_places);
    const std::uint64_t comes = fake_adapter(one.adapter->id);
    const std::uint64_t goes = std::exchange(adapters_[one.place], comes);
    if (goes == comes) continue;  // the plan was amended
    for (const auto& [number, adapters] : uses_) {
      EXPECT_FALSE(adapters.contains(goes)) << "plan " << number << " uses place " << one.place;
    }
  }
}

void SchedulerFixture::check(const Tick& tick) {
  scheduler_->check_invariants();
  const Plan& plan = tick.plan;
  check_adapters(plan);
  const auto stands = [&](std::int32_t row) {
    return row >= plan.first_row && row < plan.first_row + plan.rows;
  };
  std::set<std::int32_t> rows;
  StepShape shape;
  for (const PlanEntry& entry : plan.entries) {
    EXPECT_TRUE(stands(entry.row)) << entry.row;
    EXPECT_TRUE(rows.insert(entry.row).second) << "row " << entry.row << " twice in one step";
    EXPECT_GT(entry.count, 0);
    // Known tokens are a chunk, though it may be of one token where a sequence goes on.
    const bool last = entry.first_id == kLastToken;
    EXPECT_TRUE(!last || entry.count == 1 + entry.guesses);
    EXPECT_LE(entry.guesses, options_.limits.guesses);
    const std::int32_t given = entry.count - entry.guesses;
    (given == 1 ? shape.decode_tokens : shape.prefill_tokens) += given;
    shape.guess_tokens += entry.guesses;
    // Its first token sees the most of those before it.
    const std::int64_t window = options_.limits.window;
    const std::int64_t before =
        window > 0 ? std::min<std::int64_t>(entry.start, window - 1) : entry.start;
    shape.context_tokens += before + entry.count;
  }
  std::int32_t encoded = 0;
  for (const PlanEncode& one : plan.encodes) encoded += one.count;
  shape.prefill_tokens += encoded;
  EXPECT_LE(encoded, options_.limits.step_tokens);
  EXPECT_LE(tokens_of(plan), options_.limits.step_tokens);
  EXPECT_EQ(tick.shape.decode_tokens, shape.decode_tokens);
  EXPECT_EQ(tick.shape.prefill_tokens, shape.prefill_tokens);
  EXPECT_EQ(tick.shape.context_tokens, shape.context_tokens);
  EXPECT_EQ(tick.shape.guess_tokens, shape.guess_tokens);
  ASSERT_EQ(plan.samples.size(), tick.owners.size());
  std::set<std::int32_t> sampled;
  for (const PlanSample& sample : plan.samples) {
    EXPECT_TRUE(stands(sample.row)) << sample.row;
    EXPECT_TRUE(sampled.insert(sample.row).second) << "two tokens for one row";
  }
}

}  // namespace weft::test
