#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "weft/tests/kernels/cuda/sizes_cuda.h"
#include "weft/tests/kernels/sample/sample_step_cuda.h"
#include "weft/tests/sampling/chi_square.h"

namespace weft::cuda {
namespace {

using test::kInf;
using test::kNaN;
using test::Tally;
using Step = test::SampleStep;

class SampleCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_device()) GTEST_SKIP() << "no NVIDIA GPU";
  }

  void expect_host(Step& step) {
    for (const std::int32_t blocks : {1, 8}) {
      step.blocks = blocks;
      Tally tally;
      compare(step, tally);
      EXPECT_EQ(tally.others, 0) << "of " << tally.choices << ", blocks " << blocks;
    }
  }

  std::mt19937 engine_{5};
};

/// The ways to draw.
SampleSettings way_of(std::size_t way, std::uint64_t seed) {
  SampleSettings settings{.seed = seed};
  switch (way % 12) {
    case 0:
      settings.temperature = 0;
      break;
    case 1:
      break;
    case 2:
      settings.top_k = 50;
      break;
    case 3:
      settings.top_p = 0.9F;
      break;
    case 4:
      settings.min_p = 0.05F;
      break;
    case 5:
      settings = {.seed = seed, .temperature = 0.7F, .top_k = 40, .top_p = 0.95F};
      break;
    case 6:
      settings = {.seed = seed, .temperature = 1.5F, .top_k = 1000, .top_p = 0.8F, .min_p = 0.01F};
      break;
    case 7:
      settings.typical_p = 0.8F;
      break;
    case 8:
      settings = {.seed = seed,
                  .temperature = 1.2F,
                  .top_k = 60,
                  .typical_p = 0.9F,
                  .top_p = 0.9F,
                  .min_p = 0.02F};
      break;
    case 9:
      settings = {.seed = seed, .temperature = 30, .top_p = 0.99F};
      break;
    case 10:
      settings = {.seed = seed, .temperature = 0.05F, .top_p = 0.5F};
      break;
    default:
      settings.top_k = 1;
  }
  return settings;
}

TEST_F(SampleCudaTest, ChoosesTheHostsTokens) {
  Tally tally;
  for (const auto& [vocabulary, items] : test_sizes<std::pair<std::int64_t, std::size_t>>(
           {{80, 600}, {1001, 360}, {32'000, 96}, {151'936, 24}, {256'000, 24}}, {{1001, 12}})) {
    for (const float deviation : {1.0F, 4.0F}) {
      Step step(vocabulary, items);
      step.add_rows(7, deviation, engine_);
      for (std::size_t i = 0; i < items; ++i) {
        step.settings[i] = way_of(i, i * 3 + 1);
        step.settings[i].logprobs = i % 3 == 0;
        step.settings[i].top_count = i % 5 == 0 ? static_cast<std::int32_t>(i % 33) : 0;
      }
      step.items[1].skipped = true;
      for (const std::int32_t blocks : {0, 1, 8}) {
        SCOPED_TRACE(testing::Message() << vocabulary << " tokens, blocks " << blocks);
        step.blocks = blocks;
        compare(step, tally);
      }
    }
  }
  RecordProperty("choices", tally.choices);
  RecordProperty("others", tally.others);
  std::printf("%d choices, %d are not the host's\n", tally.choices, tally.others);
  EXPECT_LE(tally.others, tally.choices / 1000);
}

TEST_F(SampleCudaTest, ChoosesTheSameHoweverManyBlocksShareARow) {
  const std::size_t items = test_size(240, 12);
  Step step(test_size(32'003, 1003), items);
  step.add_rows(5, 2, engine_);
  for (std::size_t i = 0; i < items; ++i) step.settings[i] = way_of(i, i);
  step.blocks = 1;
  const auto one = step.on_device();
  step.blocks = 8;
  const auto eight = step.on_device();
  EXPECT_EQ(one.last, eight.last);
  EXPECT_EQ(eight.last, step.on_device().last);
}

/// Edits, each alone (bit of `which`) or together.
void add_edits(Step& step, std::size_t i, unsigned which, std::mt19937& engine) {
  SampleSettings& settings = step.settings[i];
  SampleLists& lists = step.lists[i];
  const auto token = [&] {
    return static_cast<TokenId>(engine() % static_cast<std::uint64_t>(step.vocabulary));
  };
  if ((which & 1U) != 0) {
    settings.biases = 40;
    for (std::size_t e = 0; e < 40; ++e) {
      lists.bias_token[e] = e % 4 == 3 ? lists.bias_token[e - 1] : token();
      lists.bias[e] = static_cast<float>(e) * 0.37F - 3;
    }
  }
  if ((which & 2U) != 0) {
    settings.bad = 1000;
    for (std::size_t e = 0; e < 1000; ++e) lists.bad[e] = token();
  }
  if ((which & 4U) != 0) {
    settings.allowed = 1024;
    for (std::size_t e = 0; e < 1024; ++e) lists.allowed[e] = token();
  }
  if ((which & 8U) != 0) {
    settings.min_tokens = 10;
    settings.stops = 256;
    for (std::size_t e = 0; e < 256; ++e) lists.stops[e] = token();
    step.items[i].output_tokens = i % 2 == 0 ? 9 : 10;
  }
  if ((which & 16U) != 0) {
    settings.counts = true;
    settings.repetition = 1.3F;
    settings.frequency = 0.4F;
    settings.presence = -0.2F;
    auto* counts = step.counts.data() + i * static_cast<std::size_t>(step.vocabulary);
    for (std::int64_t t = 0; t < step.vocabulary / 3; ++t) {
      counts[token()] = 0x80000000U + static_cast<std::uint32_t>(engine() % 3);
    }
  }
}

TEST_F(SampleCudaTest, EditsLogitsAsTheHost) {
  for (const std::int64_t vocabulary : test_sizes<std::int64_t>({1001, 32'000}, {1001})) {
    const auto items = test_size<std::size_t>(64, 16);
    Step step(vocabulary, items);
    step.add_rows(3, 2, engine_);
    for (std::size_t i = 0; i < items; ++i) {
      step.settings[i].seed = i;
      step.settings[i].temperature = i % 3 == 0 ? 0 : 1;
      step.settings[i].top_count = 20;
      step.settings[i].logprobs = true;
      add_edits(step, i, static_cast<unsigned>(i * (64 / items) % 32), engine_);
    }
    expect_host(step);
  }
}

/// So many masks, of which each allows a token with this probability.
void add_masks(Step& step, std::size_t count, double probability, std::mt19937& engine) {
  std::bernoulli_distribution allows(probability);
  const auto words = static_cast<std::size_t>(TokenMasks::words(step.vocabulary));
  for (std::size_t i = 0; i < count * words; ++i) {
    std::uint32_t word = 0;
    for (std::uint32_t bit = 0; bit < 32; ++bit) word |= allows(engine) ? 1U << bit : 0U;
    step.masks.push_back(word);
  }
}

TEST_F(SampleCudaTest, ChoosesAmongWhatMasksAllow) {
  for (const std::int64_t vocabulary : test_sizes<std::int64_t>({1001, 32'003, 151'936}, {1001})) {
    const auto items = test_size<std::size_t>(48, 10);
    Step step(vocabulary, items);
    step.add_rows(5, 3, engine_);
    add_masks(step, 4, 0.5, engine_);
    add_masks(step, 4, 0.01, engine_);
    add_masks(step, 1, 0, engine_);
    for (std::size_t i = 0; i < items; ++i) {
      step.items[i].mask = static_cast<std::int32_t>(i % 10) - 1;
      step.settings[i] = way_of(i, i);
      step.settings[i].logprobs = true;
      step.settings[i].top_count = 5;
      step.settings[i].beams = i % 7 == 6;
      add_edits(step, i, static_cast<unsigned>(i % 3 == 0 ? i % 32 : 0), engine_);
    }
    SCOPED_TRACE(vocabulary);
    Tally tally;
    for (const std::int32_t blocks : {1, 8}) {
      step.blocks = blocks;
      compare(step, tally);
    }
    EXPECT_LE(tally.others, 1) << "of " << tally.choices;
    const auto got = step.on_device();
    for (std::size_t i = 0; i < items; ++i) {
      const std::int32_t mask = step.items[i].mask;
      const TokenId token = got.choices[i].token;
      if (mask < 0 || token == kNoToken) continue;
      ASSERT_NE(mask, 8) << "it allows nothing";
      const auto words = static_cast<std::size_t>(TokenMasks::words(vocabulary));
      const auto at = static_cast<std::size_t>(mask) * words + static_cast<std::size_t>(token) / 32;
      EXPECT_NE(step.masks[at] >> (token % 32) & 1U, 0U) << "choice " << i;
    }
  }
}

TEST_F(SampleCudaTest, TellsBeamsTheirCandidates) {
  if (kOnHost) GTEST_SKIP() << "takes minutes on the host";
  Step step(32'000, 16);
  step.add_rows(16, 2, engine_);
  for (std::size_t i = 0; i < 16; ++i) {
    step.settings[i].beams = true;
    step.settings[i].top_count = static_cast<std::int32_t>(2 * i + 1);
    add_edits(step, i, static_cast<unsigned>(i % 2 == 0 ? 0 : 31), engine_);
  }
  expect_host(step);
}

TEST_F(SampleCudaTest, TakesWhatNumbersThereAre) {
  if (kOnHost) GTEST_SKIP() << "takes minutes on the host";
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  Step step(100, std::size_t{12} * 13);
  std::vector<std::vector<float>> rows(13, std::vector<float>(100, -kInf));
  rows[1].assign(100, kNaN);
  rows[2][40] = -3;
  rows[3].assign(100, 7);
  rows[4].assign(100, kNaN);
  rows[4][99] = -kMax;
  rows[5][3] = kInf;
  rows[6].assign(100, 1);
  rows[6][3] = rows[6][77] = kInf;
  rows[7].assign(100, -kMax);
  rows[7][50] = kMax;
  rows[8].assign(100, kTiny);
  rows[8][20] = -kTiny;
  rows[9].assign(100, -0.0F);
  rows[9][70] = 0;
  for (std::size_t i = 0; i < 100; ++i) rows[10][i] = i % 2 == 0 ? 1.0F : 1.5F;
  for (std::size_t i = 0; i < 100; ++i) rows[11][i] = static_cast<float>(i) * -40;
  for (std::size_t i = 0; i < 100; ++i) rows[12][i] = 5 + static_cast<float>(i) * 1e-6F;
  step.rows = rows;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    step.items[i].output = static_cast<std::int32_t>(i / 12);
    step.settings[i] = way_of(i, i);
    step.settings[i].logprobs = true;
    step.settings[i].top_count = 32;
  }
  expect_host(step);
}

/// Bins that hold thousands of tokens are cut into finer ones.
TEST_F(SampleCudaTest, SelectsAmongTokensThatAreNearlyAlike) {
  if (kOnHost) GTEST_SKIP() << "takes minutes on the host";
  Step step(32'000, 72);
  step.add_rows(6, 1, engine_);
  for (float& logit : step.rows[0]) logit = 2.5F;
  for (float& logit : step.rows[1]) logit = 3 + logit * 1e-4F;
  for (float& logit : step.rows[2]) logit = 1e-6F * logit;
  for (float& logit : step.rows[3]) logit = std::round(logit);
  for (float& logit : step.rows[4]) logit *= 1e5F;
  for (std::size_t i = 0; i < 32'000; ++i) step.rows[5][i] = static_cast<float>(i % 32) - 900;
  step.rows[5][31'999] = 0;
  for (std::size_t i = 0; i < 72; ++i) {
    step.settings[i] = way_of(i / 6, i);
    step.settings[i].top_count = 32;
  }
  Tally tally;
  for (const std::int32_t blocks : {1, 8}) {
    step.blocks = blocks;
    compare(step, tally);
  }
  EXPECT_LE(tally.others, 2) << "of " << tally.choices;
}

TEST_F(SampleCudaTest, DrawsFromTheDistribution) {
  if (kOnHost) GTEST_SKIP() << "takes minutes on the host";
  Step step(40, 4000);
  step.add_rows(1, 1.5F, engine_);
  for (const float temperature : {0.7F, 2.0F}) {
    for (std::size_t i = 0; i < 4000; ++i) {
      step.settings[i] = {.seed = 3, .temperature = temperature};
    }
    std::vector<double> probabilities;
    double sum = 0;
    for (const float logit : step.rows[0]) {
      probabilities.push_back(std::exp(double{logit} / double{temperature}));
      sum += probabilities.back();
    }
    for (double& probability : probabilities) probability /= sum;
    const auto got = step.on_device();
    weft::test::expect_distribution(probabilities, [&](std::size_t i) { return got.last[i]; });
  }
}

}  // namespace
}  // namespace weft::cuda
