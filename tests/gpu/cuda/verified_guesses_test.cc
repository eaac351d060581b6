// Guesses that a GPU verifies: what is chosen does not depend on what is guessed.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/device_error.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/recalling_drafter.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

constexpr std::int32_t kGuesses = 4;
constexpr DeviceLimits kGuessingLimits{.rows = 8,
                                       .pages = 80,
                                       .page_tokens = 4,
                                       .step_tokens = 48,
                                       .context = 40,
                                       .vocabulary = LlamaShape{}.vocabulary,
                                       .guesses = kGuesses,
                                       .chooses_at_once = true};
constexpr std::size_t kOutput = 24;
const Tokens guessed_prompt = {3, 17, 42};

/// Returns the parameters of a test's rows. The host chooses for the last three.
std::vector<SamplingParams> guessed_rows() {
  std::vector<SamplingParams> rows = {
      {.temperature = 0, .logprobs = true, .top_logprobs = 3},
      {.temperature = 1},
      {.temperature = 0.7F, .top_k = 20, .typical_p = 0.9F, .logprobs = true},
      {.logit_bias = {{7, 3}, {9, -2}},
       .bad_tokens = {11},
       .min_tokens = 12,
       .temperature = 1.5F,
       .top_p = 0.9F,
       .min_p = 0.01F,
       .stop_tokens = {4, 5, 6, 30, 31, 32}},
      {.allowed_tokens = {1, 2, 3, 8, 13, 20, 21, 34, 35, 36, 50}, .temperature = 2},
      {.temperature = 1, .logprobs = true, .top_logprobs = 2, .logprobs_after_samplers = true},
      {.temperature = 1},
      {.temperature = 1}};
  rows[6].dry.multiplier = 0.5F;
  rows[7].mirostat.version = 2;
  return rows;
}

struct GuessedText {
  Tokens tokens;
  std::vector<float> logprobs;
  std::vector<Tokens> top;
};

/// The rows' outputs, and what became of guesses.
struct GuessedRun {
  std::vector<GuessedText> texts = std::vector<GuessedText>(guessed_rows().size());
  std::size_t steps = 0;
  std::size_t right = 0;
  std::size_t wrong = 0;
};

/// The entry of a row in the last step.
struct GuessedRow {
  std::int32_t start = 0;
  std::int32_t guesses = 0;
};

void take(GuessedRun& run, std::size_t row, const StepResult& result, std::size_t& next) {
  GuessedText& text = run.texts[row];
  const auto guessed = static_cast<std::size_t>(result.samples[next].guessed);
  std::size_t taken = 0;
  for (bool more = true; more; ++next, ++taken) {
    const SampleResult& one = result.samples[next];
    more = one.more;
    text.tokens.push_back(one.token);
    text.logprobs.push_back(one.logprob);
    Tokens& top = text.top.emplace_back();
    const auto first = static_cast<std::size_t>(one.first_top);
    for (std::size_t i = 0; i < static_cast<std::size_t>(one.top_count); ++i) {
      top.push_back(result.top[first + i].token);
    }
  }
  run.right += taken - 1;
  run.wrong += guessed - (taken - 1);
}

/// Rows are fed with up to `guesses` guesses until each has its output. Entries begin as plans that
/// are made before the last results are known.
GuessedRun run_guessed(StepDevice& device, std::int32_t guesses) {
  GuessedRun run;
  PlanBuilder plan;
  std::vector<GuessedRow> rows;
  for (SamplingParams& params : guessed_rows()) {
    const auto row = static_cast<std::int32_t>(rows.size());
    Pages pages(10);
    for (std::size_t i = 0; i < pages.size(); ++i) {
      pages[i] = 10 * row + static_cast<std::int32_t>(i);
    }
    plan.start(row, std::make_shared<const SamplingParams>(std::move(params)), 3, {},
               static_cast<std::uint64_t>(row));
    plan.table(row, 0, pages).feed(row, 0, guessed_prompt).sample();
    rows.push_back({2, 0});
  }
  const auto is_done = [](const GuessedText& one) { return one.tokens.size() >= kOutput; };
  std::vector<std::size_t> fed(rows.size());
  std::iota(fed.begin(), fed.end(), 0U);
  while (true) {
    const StepResult result = plan.run(device);
    ++run.steps;
    std::size_t next = 0;
    for (const std::size_t row : fed) take(run, row, result, next);
    EXPECT_EQ(next, result.samples.size());
    fed.clear();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (is_done(run.texts[row])) continue;
      fed.push_back(row);
      const auto most = static_cast<std::int32_t>(kOutput - run.texts[row].tokens.size()) - 1;
      const std::int32_t own = std::min(guesses, std::max(most, 0));
      const auto start = 2 + static_cast<std::int32_t>(run.texts[row].tokens.size());
      const std::int32_t latest = rows[row].start + 1 + rows[row].guesses;
      plan.feed_guesses(static_cast<std::int32_t>(row), latest, own, rows[row].guesses).sample();
      rows[row] = {start, own};
    }
    if (fed.empty()) return run;
  }
}

class VerifiedGuessesTest : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override { WEFT_SKIP_WITHOUT_GPU(GetParam()); }

  std::unique_ptr<cuda::CudaStepDevice> device_of(std::unique_ptr<Drafter> drafter) {
    auto made = GetParam().load_steps(llama_.checkpoint(), llama_.program(), kGuessingLimits);
    std::unique_ptr<cuda::CudaStepDevice> device(
        dynamic_cast<cuda::CudaStepDevice*>(made.release()));
    if (drafter) device->use(std::move(drafter));
    return device;
  }

  const RandomLlama llama_{{}, 11};
};

void expect_same_text(const GuessedText& got, const GuessedText& want) {
  ASSERT_EQ(got.tokens, want.tokens);
  for (std::size_t i = 0; i < want.logprobs.size(); ++i) {
    EXPECT_NEAR(got.logprobs[i], want.logprobs[i], 1e-5) << i;
  }
  EXPECT_EQ(got.top, want.top);
}

/// Compares texts of a GPU up to their first difference, and returns where it is. Other kernels
/// compute k + 1 tokens of a row than one, with sums in another order. So a draw may fall on
/// another token, and all tokens behind it differ.
std::size_t expect_like_text(const GuessedText& got, const GuessedText& want) {
  EXPECT_EQ(got.tokens.size(), want.tokens.size());
  const auto ends = std::ranges::mismatch(got.tokens, want.tokens);
  const auto same = static_cast<std::size_t>(ends.in1 - got.tokens.begin());
  for (std::size_t i = 0; i < std::min(same, want.logprobs.size()); ++i) {
    EXPECT_NEAR(got.logprobs[i], want.logprobs[i], 0.05) << i;
  }
  return same;
}

TEST_P(VerifiedGuessesTest, ChangeNoChoiceOfAnySampler) {
  const GuessedRun plain = run_guessed(*device_of(nullptr), 0);
  EXPECT_EQ(plain.steps, kOutput);
  std::vector<Tokens> texts;
  for (const GuessedText& one : plain.texts) {
    texts.push_back(guessed_prompt);
    texts.back().insert(texts.back().end(), one.tokens.begin(), one.tokens.end());
  }
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto device =
        device_of(std::make_unique<RecallingDrafter>(texts, kGuessingLimits.vocabulary, seed));
    const GuessedRun run = run_guessed(*device, kGuesses);
    EXPECT_LT(run.steps, plain.steps);
    EXPECT_GT(run.right, 20U);
    EXPECT_GT(run.wrong, 20U);
    std::size_t same = 0;
    for (std::size_t row = 0; row < run.texts.size(); ++row) {
      SCOPED_TRACE(row);
      if (GetParam().gpus == 0) {
        expect_same_text(run.texts[row], plain.texts[row]);
      } else {
        same += expect_like_text(run.texts[row], plain.texts[row]);
      }
    }
    if (GetParam().gpus > 0) {
      EXPECT_GT(same, run.texts.size() * kOutput / 2);
    }
  }
}

/// Every token can be drawn, so every guess is taken, and is what the next step continues.
TEST_P(VerifiedGuessesTest, AreAllTakenWhereTheRequestTakesAnyThatCanBeDrawn) {
  for (const bool is_lossy : {false, true}) {
    SamplingParams params{.top_k = static_cast<std::int32_t>(kGuessingLimits.vocabulary)};
    if (is_lossy) params.guess_acceptance = GuessAcceptance::kLossyTop;
    const auto device = device_of(
        std::make_unique<RecallingDrafter>(std::vector<Tokens>{}, kGuessingLimits.vocabulary, 1));
    PlanBuilder plan;
    plan.start(0, std::make_shared<const SamplingParams>(params), 3);
    plan.table(0, 0, {1, 2, 3, 4, 5, 6}).feed(0, 0, guessed_prompt).sample().run(*device);
    std::int32_t at = 3;
    std::size_t taken = 0;
    for (int step = 0; step < 3; ++step) {
      const StepResult result = plan.feed_guesses(0, at, kGuesses).sample().run(*device);
      at += static_cast<std::int32_t>(result.samples.size());
      taken += result.samples.size() - 1;
    }
    EXPECT_EQ(taken == std::size_t{3 * kGuesses}, is_lossy) << taken;
  }
}

TEST_P(VerifiedGuessesTest, AreRefusedWhereAChoiceDependsOnThem) {
  const auto device = device_of(
      std::make_unique<RecallingDrafter>(std::vector<Tokens>{}, kGuessingLimits.vocabulary, 1));
  PlanBuilder plan;
  plan.start(
      0, std::make_shared<const SamplingParams>(SamplingParams{.penalties = {.presence = 0.5F}}),
      3);
  plan.table(0, 0, {1, 2, 3}).feed(0, 0, guessed_prompt).sample().run(*device);
  plan.feed_guesses(0, 3, 2).sample();
  try {
    static_cast<void>(plan.run(*device));
    FAIL() << "took guesses of a row with penalties";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), DeviceErrc::kUnfit);
    EXPECT_NE(std::string(error.what()).find("depend on the guesses"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(, VerifiedGuessesTest, testing::Values(fake_gpu_kind(), gpu_kind()),
                         kind_name);

TEST(VerifiedGuesses, AreOneGraphWhereNoPromptIsComputed) {
  const RandomLlama llama{{}, 11};
  const auto gpu = std::make_shared<FakeGpu>();
  const auto device = load_gpu_steps(std::make_unique<FakeRuntime>(gpu), llama.checkpoint(),
                                     llama.program(), kGuessingLimits)
                          .value();
  device->use(
      std::make_unique<RecallingDrafter>(std::vector<Tokens>{}, kGuessingLimits.vocabulary, 1));
  PlanBuilder plan;
  plan.start(0, greedy(), 3).table(0, 0, {1, 2, 3, 4, 5, 6});
  plan.feed(0, 0, guessed_prompt).sample().run(*device);
  std::int32_t at = 3;
  for (const std::int32_t guesses : {1, 2, 3, 4}) {
    const std::int64_t before = gpu->graphs;
    const StepResult result = plan.feed_guesses(0, at, guesses).sample().run(*device);
    EXPECT_EQ(result.samples.front().guessed, guesses);
    EXPECT_EQ(gpu->graphs - before, 1) << guesses;
    at += static_cast<std::int32_t>(result.samples.size());
  }
}

}  // namespace
}  // namespace weft::test
