#include "weft/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/kernels/sample/sample.h"
#include "weft/sampling/defaults.h"
#include "weft/sampling/logit_processor.h"
#include "weft/sampling/token_constraint.h"
#include "weft/tests/sampling/reference_sampler.h"
#include "weft/tests/sampling/sampler_fixture.h"

namespace weft::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kVocabulary = 300;

using Tokens = std::vector<TokenId>;

/// Parameters that take each path through the sampler.
std::vector<SamplingParams> many_params() {
  return {
      {.temperature = 0},
      {},
      {.temperature = 0.8F, .top_k = 40, .top_p = 0.9F, .min_p = 0.05F},
      {.penalties = {.repetition = 1.2F, .frequency = 0.5F, .presence = 0.5F, .window = 20},
       .temperature = 0},
      {.dry = {.multiplier = 1}, .temperature = 1.5F, .top_p = 0.95F},
      {.fsd = {.alpha = 0.5F}},
      {.fsd = {.alpha = 0.5F, .randomized = true}, .typical_p = 0.8F},
      {.temperature = 1, .dynamic_temperature = {.range = 0.9F, .exponent = 2}},
      {.tfs_z = 0.9F, .typical_p = 0.9F, .xtc = {.probability = 0.5F, .threshold = 0.05F}},
      {.mirostat = {.version = 1, .tau = 3}},
      {.mirostat = {.version = 2, .tau = 3}},
      {.logit_bias = {{7, 5}},
       .bad_tokens = {3},
       .min_tokens = 10,
       .penalties = {.repetition = 1.1F, .frequency = 0.1F},
       .dry = {.multiplier = 0.5F, .breakers = {1}},
       .temperature = 1.1F,
       .dynamic_temperature = {.range = 0.3F},
       .top_k = 100,
       .tfs_z = 0.98F,
       .typical_p = 0.97F,
       .top_p = 0.97F,
       .min_p = 0.001F,
       .xtc = {.probability = 0.3F, .threshold = 0.1F},
       .mirostat = {.version = 2, .tau = 4}},
      {.beams = {.num_beams = 4}},
  };
}

/// Returns the logits that a model would give after a text; any function of it would do.
std::vector<float> logits_after(std::span<const TokenId> text) {
  std::uint32_t hash = 17;
  for (const TokenId token : text) hash = hash * 31 + static_cast<std::uint32_t>(token) + 1;
  std::minstd_rand random(hash % 2147483646 + 1);
  auto logits = random_logits(kVocabulary, random);
  // A text that repeats itself, so that penalties have work.
  for (std::size_t i = 0; i < 8; ++i) logits[i] += 4;
  return logits;
}

struct Sequence {
  std::vector<TokenId> text;
  float mirostat_mu = 0;
};

/// Adds `count` tokens to the text of `run`.
void go_on(Sampler& sampler, SamplerScratch& scratch, Sequence& run, int count) {
  for (int i = 0; i < count; ++i) {
    auto logits = logits_after(run.text);
    const SampleOutcome outcome = sampler.sample(logits, scratch);
    ASSERT_NE(outcome.token, kNoToken);
    run.text.push_back(outcome.token);
    run.mirostat_mu = outcome.mirostat_mu;
    sampler.observe(std::span(run.text).last(1));
  }
}

constexpr std::array<TokenId, 7> kPrompt = {5, 6, 7, 5, 6, 7, 5};

/// The beginning of each sequence.
Sequence prompt() { return {.text = {kPrompt.begin(), kPrompt.end()}, .mirostat_mu = 0}; }

void begin(Sampler& sampler, const SamplingParams& params, const Sequence& run,
           std::uint64_t seed = 12) {
  static const std::vector<TokenId> ends = {2};
  sampler.start(std::make_shared<const SamplingParams>(params), ends, seed, kPrompt.size(),
                run.mirostat_mu);
  sampler.observe(run.text);
}

Sequence run_alone(const SamplingParams& params, int count, std::uint64_t seed = 12) {
  Sampler sampler(kVocabulary, kContext);
  SamplerScratch scratch(kVocabulary);
  Sequence run = prompt();
  begin(sampler, params, run, seed);
  go_on(sampler, scratch, run, count);
  return run;
}

TEST(SamplerTest, TheSameSeedGivesTheSameOutputAndAnotherSeedAnother) {
  for (const SamplingParams& params : many_params()) {
    EXPECT_EQ(run_alone(params, 60).text, run_alone(params, 60).text);
  }
  EXPECT_NE(run_alone({}, 60, 1).text, run_alone({}, 60, 2).text);
}

TEST(SamplerTest, ASequenceThatWasInterruptedGoesOnAsIfItWasNot) {
  for (const SamplingParams& params : many_params()) {
    const Sequence whole = run_alone(params, 60);
    Sequence parts = run_alone(params, 23);
    Sampler sampler(kVocabulary, kContext);
    SamplerScratch scratch(kVocabulary);
    begin(sampler, params, parts);
    go_on(sampler, scratch, parts, 37);
    EXPECT_EQ(parts.text, whole.text);
    EXPECT_EQ(parts.mirostat_mu, whole.mirostat_mu);
  }
}

TEST(SamplerTest, WhatElseRunsAndRanBeforeDoesNotMatter) {
  const auto all = many_params();
  SamplerScratch scratch(kVocabulary + 50);
  std::vector<Sampler> samplers;
  std::vector<Sequence> runs(all.size(), prompt());
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& sampler = samplers.emplace_back(kVocabulary, kContext);
    // Another sequence was in the same row before.
    Sequence other = prompt();
    begin(sampler, all[(i + 1) % all.size()], other, 77);
    go_on(sampler, scratch, other, 15);
    begin(sampler, all[i], runs[i]);
  }
  for (int step = 0; step < 30; ++step) {
    for (std::size_t i = 0; i < all.size(); ++i) go_on(samplers[i], scratch, runs[i], 1);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(runs[i].text, run_alone(all[i], 30).text) << "parameters " << i;
  }
}

TEST(SamplerTest, ASequenceThatBeginsAsAnotherHasItsTextAndState) {
  for (const SamplingParams& params : many_params()) {
    Sampler first(kVocabulary, kContext);
    Sampler second(kVocabulary, kContext);
    SamplerScratch scratch(kVocabulary);
    Sequence run = prompt();
    begin(first, params, run);
    go_on(first, scratch, run, 20);
    second.start_as(first, 12);
    Sequence copy = run;
    go_on(first, scratch, run, 20);
    go_on(second, scratch, copy, 20);
    EXPECT_EQ(copy.text, run.text);
  }
}

TEST(SamplerTest, AskingForLogprobsChangesNoToken) {
  for (SamplingParams params : many_params()) {
    const Sequence without = run_alone(params, 40);
    params.logprobs = true;
    params.top_logprobs = 20;
    EXPECT_EQ(run_alone(params, 40).text, without.text);
    params.logprobs_after_samplers = true;
    EXPECT_EQ(run_alone(params, 40).text, without.text);
  }
}

TEST(SamplerTest, ObservingInPartsIsObservingAtOnce) {
  for (const SamplingParams& params : many_params()) {
    Sequence run{.text = run_alone(params, 40).text};
    Sampler whole(kVocabulary, kContext);
    Sampler parts(kVocabulary, kContext);
    SamplerScratch scratch(kVocabulary);
    begin(whole, params, run);
    begin(parts, params, {});
    for (const TokenId& token : run.text) parts.observe({&token, 1});
    auto logits = logits_after(run.text);
    auto copy = logits;
    EXPECT_EQ(whole.sample(logits, scratch).token, parts.sample(copy, scratch).token);
  }
}

TEST(SamplerTest, PlainParametersAreWeftSample) {
  std::minstd_rand random(1);
  SamplerScratch scratch(kVocabulary);
  std::vector<std::uint64_t> keys(2 * kVocabulary);
  for (int i = 0; i < 200; ++i) {
    const SamplingParams params{.temperature = 1.3F, .top_k = i, .top_p = 0.9F, .min_p = 0.01F};
    const ReferenceCase sample = case_of(params, {1, 2, 3});
    auto logits = random_logits(kVocabulary, random);
    const TokenId want = weft::sample(
        logits,
        {.temperature = 1.3F, .top_p = 0.9F, .top_k = i, .min_p = 0.01F, .seed = 8, .draw = 3},
        keys);
    ASSERT_EQ(sampler_of(sample, kVocabulary, 8).sample(logits, scratch).token, want);
  }
}

/// Takes each path through the sampler over these logits.
template <class Check>
void with_each_way(const std::vector<float>& logits, const Check& check) {
  auto all = many_params();
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "parameters " << i);
    all[i].logit_bias.clear();
    all[i].bad_tokens.clear();
    all[i].logprobs = true;
    all[i].top_logprobs = all[i].beams.num_beams > 1 ? 0 : 3;
    for (const bool after : {false, true}) {
      all[i].logprobs_after_samplers = after;
      SamplerScratch scratch(logits.size());
      auto copy = logits;
      const ReferenceCase sample = case_of(all[i], {0, 1, 0, 1, 0}, 2);
      auto sampler = sampler_of(sample, logits.size());
      check(sampler.sample(copy, scratch));
    }
  }
}

TEST(SamplerTest, NothingIsChosenWhereNothingIsProbable) {
  for (const float logit : {-kInfinity, kNaN}) {
    with_each_way(std::vector<float>(30, logit), [](const SampleOutcome& outcome) {
      EXPECT_EQ(outcome.token, kNoToken);
      EXPECT_TRUE(outcome.top.empty());
      ASSERT_NE(outcome.failure, nullptr);
      EXPECT_EQ(outcome.failure->cause, ChoiceFailure::Cause::kNotNumbers);
    });
  }
}

using LogitWork = std::function<void(std::span<float> logits)>;

class WorkingProcessor final : public LogitProcessor {
 public:
  explicit WorkingProcessor(LogitWork work) : work_(std::move(work)) {}
  void process(const LogitContext& /*context*/, std::span<float> logits) override { work_(logits); }

 private:
  LogitWork work_;
};

/// Returns what a sampler says whose LogitProcessor does `work`.
SampleOutcome outcome_with(LogitWork work, std::vector<float> logits) {
  auto params = std::make_shared<SamplingParams>();
  params->logit_processor = std::make_shared<WorkingProcessor>(std::move(work));
  Sampler sampler(logits.size(), 4);
  sampler.start(params, {}, 1, 0);
  SamplerScratch scratch(logits.size());
  SampleOutcome outcome = sampler.sample(logits, scratch);
  outcome.top = {};  // it is the scratch's
  return outcome;
}

TEST(SamplerTest, WhatAProcessorThrowsIsTheReasonWhyNothingIsChosen) {
  const auto thrown = outcome_with(
      [](std::span<float>) {
        throw std::runtime_error("no such \xFF word " + std::string(2000, 'x'));
      },
      {1, 2, 3});
  EXPECT_EQ(thrown.token, kNoToken);
  ASSERT_NE(thrown.failure, nullptr);
  EXPECT_EQ(thrown.failure->cause, ChoiceFailure::Cause::kProcessorThrew);
  EXPECT_TRUE(thrown.failure->text.starts_with("no such \xEF\xBF\xBD word x"));
  EXPECT_EQ(thrown.failure->text.size(), defaults::kMaxThrownText);

  const auto other = outcome_with([](std::span<float>) { throw 7; }, {1, 2, 3});
  ASSERT_NE(other.failure, nullptr);
  EXPECT_EQ(other.failure->text, "an exception that is no std::exception");
}

TEST(SamplerTest, MasksAreNotTakenForLogitsThatAreNoNumbers) {
  const auto mask_all = [](std::span<float> logits) { std::ranges::fill(logits, -kInfinity); };
  EXPECT_EQ(outcome_with(mask_all, {1, 2, 3}).failure, nullptr);
  const auto broken = outcome_with(mask_all, {kNaN, kNaN, kNaN});
  ASSERT_NE(broken.failure, nullptr);
  EXPECT_EQ(broken.failure->cause, ChoiceFailure::Cause::kNotNumbers);
}

TEST(SamplerTest, NaNIsNeverChosen) {
  for (std::size_t place = 0; place < 10; ++place) {
    std::vector<float> logits(10, kNaN);
    logits[place] = -50;
    with_each_way(logits, [&](const SampleOutcome& outcome) {
      EXPECT_EQ(outcome.token, static_cast<TokenId>(place));
      EXPECT_EQ(outcome.logprob, 0);
    });
  }
}

TEST(SamplerTest, PlusInfinityIsAlwaysChosen) {
  std::vector<float> logits(30, 3);
  logits[11] = kInfinity;
  with_each_way(logits, [](const SampleOutcome& outcome) {
    EXPECT_EQ(outcome.token, 11);
    EXPECT_EQ(outcome.logprob, 0);
  });
  logits[20] = kInfinity;
  with_each_way(logits, [](const SampleOutcome& outcome) {
    EXPECT_TRUE(outcome.token == 11 || outcome.token == 20);
  });
}

TEST(SamplerTest, EqualAndExtremeLogitsAreSurvived) {
  const float most = std::numeric_limits<float>::max();
  for (const float logit : {0.0F, -1e30F, most, -most}) {
    with_each_way(std::vector<float>(30, logit), [](const SampleOutcome& outcome) {
      EXPECT_GE(outcome.token, 0);
      EXPECT_LT(outcome.token, 30);
      EXPECT_FALSE(std::isnan(outcome.logprob));
    });
  }
  std::vector<float> mixed(30, -most);
  mixed[4] = most;
  with_each_way(mixed, [](const SampleOutcome& outcome) { EXPECT_EQ(outcome.token, 4); });
}

TEST(SamplerTest, AVocabularyOfOneTokenIsEnough) {
  for (SamplingParams params : many_params()) {
    params.logit_bias.clear();
    params.bad_tokens.clear();
    params.dry.breakers.clear();
    const ReferenceCase sample = case_of(params, {0, 0, 0});
    EXPECT_EQ(choose_once({0.5F}, sample), 0);
  }
}

TEST(SamplerTest, TiesGoToTheLowerId) {
  const std::vector<float> logits = {1, 3, 3, 2, 3};
  EXPECT_EQ(choose_once(logits, case_of({.temperature = 0})), 1);
  EXPECT_EQ(choose_once(logits, case_of({.fsd = {.alpha = 0.1F}})), 1);
  ReferenceCase sample = case_of({.temperature = 0, .top_logprobs = 4});
  SamplerScratch scratch(5);
  auto copy = logits;
  const auto outcome = sampler_of(sample, 5).sample(copy, scratch);
  std::vector<TokenId> top;
  for (const TokenLogprob& entry : outcome.top) top.push_back(entry.token);
  EXPECT_EQ(top, (std::vector<TokenId>{1, 2, 4, 3}));
}

TEST(SamplerTest, TemperatureZeroIsGreedyWhateverTheSamplers) {
  auto params = many_params()[11];
  params.temperature = 0;
  params.logit_bias.clear();
  ReferenceCase sample = case_of(params);
  std::minstd_rand random(2);
  for (int i = 0; i < 50; ++i) {
    const auto logits = random_logits(kVocabulary, random);
    auto masked = logits;
    masked[3] = -kInfinity;
    EXPECT_EQ(choose_once(logits, sample), std::ranges::max_element(masked) - masked.begin());
  }
}

TEST(SamplerTest, WhatIsNotDrawnHasLogprobZeroAfterTheSamplers) {
  for (const SamplingParams& params :
       {SamplingParams{.temperature = 0}, SamplingParams{.fsd = {.alpha = 0.4F}}}) {
    ReferenceCase sample = case_of(params);
    sample.params.top_logprobs = 3;
    sample.params.logprobs_after_samplers = true;
    SamplerScratch scratch(4);
    std::vector<float> logits = {0, 1, 5, 2};
    const auto outcome = sampler_of(sample, 4).sample(logits, scratch);
    EXPECT_EQ(outcome.logprob, 0);
    ASSERT_EQ(outcome.top.size(), 1U);
    EXPECT_EQ(outcome.top[0].token, outcome.token);
  }
}

TEST(SamplerTest, BestOfAsksForLogprobs) {
  ReferenceCase sample = case_of({.best_of = 3});
  SamplerScratch scratch(4);
  std::vector<float> logits = {0, 0, 0, 0};
  EXPECT_NEAR(sampler_of(sample, 4).sample(logits, scratch).logprob, std::log(0.25), 1e-6);
}

TEST(SamplerTest, ABeamSearchGetsItsCandidatesFromTheLogitsThatWereChanged) {
  ReferenceCase sample =
      case_of({.logit_bias = {{5, 50}}, .beams = {.num_beams = 3}}, {}, 0, {1, 2});
  std::minstd_rand random(2);
  auto logits = random_logits(50, random);
  const auto want = reference_probabilities(logits, sample);
  SamplerScratch scratch(50);
  const auto outcome = sampler_of(sample, 50).sample(logits, scratch);
  ASSERT_EQ(outcome.top.size(), 6U);
  EXPECT_EQ(outcome.token, 5);
  for (std::size_t i = 0; i < 6; ++i) {
    const double p = want[static_cast<std::size_t>(outcome.top[i].token)];
    EXPECT_NEAR(outcome.top[i].logprob, std::log(p), 1e-4);
    EXPECT_EQ(std::ranges::count_if(want, [&](double other) { return other > p; }),
              static_cast<std::ptrdiff_t>(i));
  }
}

TEST(SamplerTest, NoEndIsChosenBeforeMinTokensOfOutput) {
  ReferenceCase sample = case_of({.min_tokens = 2, .temperature = 0}, {3, 3, 3}, 3, {0});
  sample.params.stop_tokens = {1};
  const std::vector<float> logits = {9, 8, 7, 6};
  EXPECT_EQ(choose_once(logits, sample), 2);
  sample.tokens.push_back(3);
  EXPECT_EQ(choose_once(logits, sample), 2);
  sample.tokens.push_back(3);
  EXPECT_EQ(choose_once(logits, sample), 0);
  sample.tokens.pop_back();
  sample.params.ignore_eos = true;
  EXPECT_EQ(choose_once(logits, sample), 0);
}

TEST(SamplerTest, ChoicesAreTheseOnEveryProcessor) {
  // Logits that are the same on every machine, too: whole numbers times a power of two.
  const auto exact_logits = [](std::minstd_rand& random) {
    std::vector<float> logits(kVocabulary);
    for (float& logit : logits) logit = static_cast<float>(random() % 4096) * 0x1p-8F;
    return logits;
  };
  std::vector<Tokens> texts;
  for (const std::size_t i : {2U, 7U, 8U, 9U, 10U, 11U}) {
    Sequence sequence = prompt();
    Sampler sampler(kVocabulary, kContext);
    SamplerScratch scratch(kVocabulary);
    begin(sampler, many_params()[i], sequence, 2026);
    std::minstd_rand random(5);
    Tokens& text = texts.emplace_back();
    for (int k = 0; k < 8; ++k) {
      auto logits = exact_logits(random);
      text.push_back(sampler.sample(logits, scratch).token);
      sampler.observe(std::span(text).last(1));
    }
  }
  EXPECT_EQ(texts, (std::vector<Tokens>{{286, 39, 72, 105, 33, 208, 214, 158},
                                        {286, 40, 68, 105, 33, 208, 149, 158},
                                        {124, 29, 295, 167, 153, 219, 115, 72},
                                        {286, 40, 106, 168, 195, 135, 22, 280},
                                        {218, 26, 281, 78, 153, 100, 54, 159},
                                        {253, 198, 77, 167, 195, 105, 115, 15}}));
}

TEST(SamplerTest, LargeVocabulariesAreSortedRightly) {
  // More keys than are sorted by comparisons, with many equal logits.
  constexpr std::size_t kLarge = 5000;
  std::minstd_rand random(6);
  for (const std::int32_t top_k : {0, 1200, 40}) {
    std::vector<float> logits(kLarge);
    for (float& logit : logits) {
      logit = static_cast<float>(static_cast<int>(random() % 400) - 200) * 0.02F;
    }
    ReferenceCase sample =
        case_of({.top_k = top_k, .tfs_z = 0.999F, .top_p = 0.97F, .top_logprobs = 20});
    sample.params.logprobs_after_samplers = true;
    const auto want = reference_probabilities(logits, sample);
    SamplerScratch scratch(kLarge);
    auto copy = logits;
    const auto outcome = sampler_of(sample, kLarge).sample(copy, scratch);
    const auto token = static_cast<std::size_t>(outcome.token);
    EXPECT_NEAR(std::exp(double{outcome.logprob}), want[token], 1e-6);
    std::vector<std::size_t> ids;
    for (std::size_t id = 0; id < kLarge; ++id) ids.push_back(id);
    std::ranges::stable_sort(ids, [&](auto a, auto b) { return want[a] > want[b]; });
    for (std::size_t i = 0; i < outcome.top.size(); ++i) {
      EXPECT_EQ(outcome.top[i].token, static_cast<TokenId>(ids[i])) << "top_k " << top_k;
    }
  }
}

/// Allows one token after the last one of the text.
class NextTokenProcessor final : public LogitProcessor {
 public:
  void process(const LogitContext& context, std::span<float> logits) override {
    if (context.tokens.size() == 5) throw std::runtime_error("five tokens");
    prompt_tokens = context.prompt_tokens;
    const auto next = static_cast<std::size_t>(context.tokens.back()) + 1;
    std::ranges::fill(logits, -kInfinity);
    logits[next] = 0;
  }
  std::size_t prompt_tokens = 0;
};

TEST(Sampler, ARequestsOwnProcessorComesBeforeAllOtherSteps) {
  const auto processor = std::make_shared<NextTokenProcessor>();
  const ReferenceCase sample{.params = {.logit_processor = processor, .top_k = 3, .logprobs = true},
                             .tokens = {4, 5, 6},
                             .prompt_tokens = 2,
                             .end_tokens = {}};
  std::vector<float> logits(kVocabulary, 0);
  SamplerScratch scratch(kVocabulary);
  const auto outcome = sampler_of(sample, kVocabulary).sample(logits, scratch);
  EXPECT_EQ(outcome.token, 7);
  EXPECT_EQ(processor->prompt_tokens, 2U);
  EXPECT_NEAR(outcome.logprob, -std::log(kVocabulary), 1e-5) << "the model's own";
}

TEST(Sampler, AProcessorThatMasksOrThrowsLeavesNothingToChoose) {
  const auto processor = std::make_shared<NextTokenProcessor>();
  ReferenceCase sample{.params = {.logit_processor = processor, .bad_tokens = {7}},
                       .tokens = {4, 5, 6},
                       .end_tokens = {}};
  EXPECT_EQ(choose_once(std::vector<float>(kVocabulary, 0), sample), kNoToken);
  sample.tokens = {1, 2, 3, 4, 5};
  EXPECT_EQ(choose_once(std::vector<float>(kVocabulary, 0), sample), kNoToken);
}

/// Allows the token after the last one, twice; then the end.
class CountingState final : public ConstraintState {
 public:
  void advance(std::span<const TokenId> tokens) noexcept override {
    for (const TokenId token : tokens) seen_.push_back(token);
  }
  bool roll_back(std::size_t tokens) noexcept override {
    seen_.resize(seen_.size() - tokens);
    return true;
  }
  AllowedTokens allowed() noexcept override {
    if (seen_.size() == 2) return {.may_end = true};
    next_ = seen_.empty() ? 5 : seen_.back() + 1;
    if (seen_.empty()) return {.tokens = {&next_, 1}, .count = 1};
    bits_ = std::uint32_t{1} << static_cast<std::uint32_t>(next_);
    return {.bits = {&bits_, 1}, .may_end = true, .count = 1};
  }
  std::unique_ptr<ConstraintState> clone() const override {
    auto copy = std::make_unique<CountingState>();
    copy->seen_ = seen_;
    return copy;
  }

 private:
  std::vector<TokenId> seen_;
  TokenId next_ = 0;
  std::uint32_t bits_ = 0;
};

class CountingConstraint final : public TokenConstraint {
 public:
  std::unique_ptr<ConstraintState> begin() const override {
    return std::make_unique<CountingState>();
  }
};

TEST(Sampler, AConstraintDecidesWhatIsChosenAndWhereItEnds) {
  ReferenceCase sample{.params = {.constraint = std::make_shared<CountingConstraint>(),
                                  .min_tokens = 9,
                                  .stop_tokens = {8}},
                       .tokens = {3, 1},
                       .prompt_tokens = 2,
                       .end_tokens = {2}};
  std::vector<float> logits(kVocabulary, 0);
  logits[2] = 20;  // the model wants to end
  EXPECT_EQ(choose_once(logits, sample), 5) << "the prompt is not its business";
  sample.tokens.push_back(5);
  EXPECT_EQ(choose_once(logits, sample), 6) << "it may end, but min_tokens forbids it";
  sample.params.min_tokens = 0;
  EXPECT_EQ(choose_once(logits, sample), 2);
  sample.params.min_tokens = 9;
  sample.tokens.push_back(6);
  EXPECT_EQ(choose_once(logits, sample), 2) << "it must end, whatever min_tokens says";
  logits[8] = 40;
  EXPECT_EQ(choose_once(logits, sample), 8) << "a token of the request's that ends it";
}

TEST(Sampler, AForkGoesItsOwnWayUnderAConstraint) {
  ReferenceCase sample{.params = {.constraint = std::make_shared<CountingConstraint>()},
                       .tokens = {3},
                       .prompt_tokens = 1,
                       .end_tokens = {2}};
  Sampler one = sampler_of(sample, kVocabulary);
  Sampler other(kVocabulary, kContext);
  other.start_as(one, 1);
  one.observe(std::vector<TokenId>{5});
  one.prepare();
  SamplerScratch scratch(kVocabulary);
  std::vector<float> logits(kVocabulary, 0);
  logits[2] = -40;
  EXPECT_EQ(one.sample(logits, scratch).token, 6);
  logits.assign(kVocabulary, 0);
  EXPECT_EQ(other.sample(logits, scratch).token, 5);
}

}  // namespace
}  // namespace weft::test
