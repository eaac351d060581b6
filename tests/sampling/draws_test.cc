// Checks that drawn tokens come as often as they should, over many seeds and over many positions.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "weft/kernels/sample/philox.h"
#include "weft/sampling/random_stream.h"
#include "weft/tests/sampling/chi_square.h"
#include "weft/tests/sampling/reference_sampler.h"
#include "weft/tests/sampling/sampler_fixture.h"

namespace weft::test {
namespace {

constexpr std::size_t kDrawnVocabulary = 40;

std::vector<float> some_logits() {
  std::minstd_rand random(21);
  return random_logits(kDrawnVocabulary, random);
}

/// Draws once for each of many seeds.
void expect_draws(const ReferenceCase& sample, const std::vector<double>& probabilities) {
  SamplerScratch scratch(kDrawnVocabulary);
  Sampler sampler(kDrawnVocabulary, kContext);
  const auto params = std::make_shared<const SamplingParams>(sample.params);
  const auto logits = some_logits();
  expect_distribution(probabilities, [&](std::size_t seed) {
    sampler.start(params, sample.end_tokens, seed, sample.prompt_tokens,
                  static_cast<float>(sample.mirostat_mu));
    sampler.observe(sample.tokens);
    auto copy = logits;
    return sampler.sample(copy, scratch).token;
  });
}

void expect_draws(const SamplingParams& params) {
  const ReferenceCase sample = case_of(params, {1, 2, 3, 1, 2});
  expect_draws(sample, reference_probabilities(some_logits(), sample));
}

TEST(Draws, SoftmaxAlone) { expect_draws(SamplingParams{}); }
TEST(Draws, DynamicTemperature) {
  expect_draws({.temperature = 1.2F, .dynamic_temperature = {.range = 0.8F}});
}
TEST(Draws, TopKTopPMinP) { expect_draws({.top_k = 20, .top_p = 0.9F, .min_p = 0.05F}); }
TEST(Draws, TailFree) { expect_draws({.tfs_z = 0.95F}); }
TEST(Draws, Typical) { expect_draws({.typical_p = 0.7F}); }
TEST(Draws, Mirostat1) { expect_draws({.mirostat = {.version = 1, .tau = 1.5F}}); }
TEST(Draws, Mirostat2) { expect_draws({.mirostat = {.version = 2, .tau = 2}}); }
TEST(Draws, PenaltiesAndDry) {
  expect_draws({.penalties = {.repetition = 1.3F, .frequency = 0.4F, .presence = -0.5F},
                .dry = {.multiplier = 0.8F}});
}

TEST(Draws, XtcTakesPartAsOftenAsItsProbabilitySays) {
  ReferenceCase sample = case_of({.xtc = {.probability = 0.3F, .threshold = 0.05F}});
  const auto hit = reference_probabilities(some_logits(), sample);
  sample.params.xtc.probability = 0;
  auto expected = reference_probabilities(some_logits(), sample);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 0.7 * expected[i] + 0.3 * hit[i];
  sample.params.xtc.probability = 0.3F;
  expect_draws(sample, expected);
}

TEST(Draws, RandomizedFsdIsACoinBetweenFsdAndTheSamplersAtFirst) {
  ReferenceCase sample =
      case_of({.fsd = {.alpha = 0.6F, .randomized = true, .random_steps = 2}}, {1, 2, 3, 1}, 3);
  const auto logits = some_logits();
  const Logits wide(logits.begin(), logits.end());
  const auto chosen = static_cast<std::size_t>(reference_fsd(wide, sample));
  auto expected = softmax(wide);
  for (double& p : expected) p *= 0.5;
  expected[chosen] += 0.5;
  expect_draws(sample, expected);
  sample.tokens.push_back(2);  // the third token of output
  std::vector<double> point(kDrawnVocabulary);
  point[static_cast<std::size_t>(reference_fsd(wide, sample))] = 1;
  expect_draws(sample, point);
}

TEST(Draws, PlacesOfOneSequenceAreIndependent) {
  for (const float tfs_z : {1.0F, 0.95F}) {
    const ReferenceCase sample = case_of({.tfs_z = tfs_z});
    SamplerScratch scratch(kDrawnVocabulary);
    auto sampler = sampler_of(sample, kDrawnVocabulary, 99);
    const auto logits = some_logits();
    expect_distribution(reference_probabilities(logits, sample), [&](std::size_t) {
      auto copy = logits;
      const TokenId token = sampler.sample(copy, scratch).token;
      sampler.observe(std::vector<TokenId>{token});
      return token;
    });
  }
}

TEST(Draws, MirostatHoldsTheSurpriseAtTau) {
  for (const std::int32_t version : {1, 2}) {
    std::minstd_rand random(3);
    const float tau = 2.5F;
    const ReferenceCase sample =
        case_of({.mirostat = {.version = version, .tau = tau, .eta = 0.1F}});
    auto sampler = sampler_of(sample, 200);
    SamplerScratch scratch(200);
    double surprise = 0;
    constexpr int kTokens = 1500;
    for (int i = 0; i < kTokens; ++i) {
      auto logits = random_logits(200, random);
      const Logits wide(logits.begin(), logits.end());
      const TokenId token = sampler.sample(logits, scratch).token;
      surprise -= std::log2(softmax(wide)[static_cast<std::size_t>(token)]);
      sampler.observe(std::vector<TokenId>{token});
    }
    EXPECT_NEAR(surprise / kTokens, tau, 0.1) << "version " << version;
  }
}

TEST(Draws, ThePurposesOfRandomNumbersHaveStreamsOfTheirOwn) {
  using sampling::Purpose;
  using sampling::random_number;
  std::set<double> seen;
  for (std::uint64_t place = 0; place < 100; ++place) {
    EXPECT_EQ(random_number(Purpose::kDraw, 5, place), uniform(5, place));
    for (const Purpose purpose : {Purpose::kDraw, Purpose::kXtcCoin, Purpose::kFsdCoin}) {
      const double number = random_number(purpose, 5, place);
      EXPECT_GE(number, 0);
      EXPECT_LT(number, 1);
      EXPECT_TRUE(seen.insert(number).second);
    }
  }
}

}  // namespace
}  // namespace weft::test
