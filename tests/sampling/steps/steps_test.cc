// Tests each step alone, and their order, against the plain reference. The probabilities are read
// from the sampler's logprobs, so that nothing is left to chance.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/sampling/reference_sampler.h"
#include "weft/tests/sampling/sampler_fixture.h"

namespace weft::test {
namespace {

constexpr std::size_t kStepVocabulary = 16;
constexpr int kCases = 200;

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t id = 0; id < got.size(); ++id) {
    EXPECT_NEAR(got[id], want[id], 1e-5) << "token " << id;
  }
}

/// Runs many random cases of what `set` turns on.
template <class Set>
void expect_as_reference(const Set& set) {
  std::minstd_rand random(7);
  for (int i = 0; i < kCases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    ReferenceCase sample;
    sample.prompt_tokens = random() % 10;
    sample.tokens = random_tokens(sample.prompt_tokens + random() % 30, kStepVocabulary, random);
    const auto logits = random_logits(kStepVocabulary, random);
    set(sample, random);
    expect_near(probabilities_of(logits, sample), reference_probabilities(logits, sample));
  }
}

float between(std::minstd_rand& random, float least, float most) {
  return std::uniform_real_distribution<float>(least, most)(random);
}

TEST(Steps, NothingOnIsSoftmax) {
  expect_as_reference([](ReferenceCase&, std::minstd_rand&) {});
}

TEST(Steps, LogitBiasIsAddedAndOfATokenNamedTwiceBoth) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    for (int i = 0; i < 5; ++i) {
      const auto token = static_cast<TokenId>(random() % kStepVocabulary);
      sample.params.logit_bias.push_back({token, between(random, -5, 5)});
    }
  });
}

TEST(Steps, BadTokensAreTakenOutAndAllowedOnesStay) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.allowed_tokens = random_tokens(6, kStepVocabulary, random);
    sample.params.allowed_tokens.push_back(15);
    sample.params.bad_tokens = random_tokens(random() % 6, 15, random);
  });
}

TEST(Steps, EndAndStopTokensWaitForMinTokens) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.end_tokens = {2, 9};
    sample.params.stop_tokens = random_tokens(2, kStepVocabulary, random);
    sample.params.min_tokens = static_cast<std::int32_t>(random() % 30);
    sample.params.ignore_eos = random() % 2 == 0;
  });
}

void set_penalties(ReferenceCase& sample, std::minstd_rand& random) {
  sample.params.penalties.repetition = between(random, 0.5F, 2);
  sample.params.penalties.frequency = between(random, -1, 1);
  sample.params.penalties.presence = between(random, -1, 1);
  sample.params.penalties.window = static_cast<std::int32_t>(random() % 20);
}

TEST(Steps, PenaltiesCountTheWindow) { expect_as_reference(set_penalties); }

void set_dry(ReferenceCase& sample, std::minstd_rand& random) {
  // Few different tokens, so that passages repeat.
  for (TokenId& token : sample.tokens) token %= 3;
  sample.params.dry.multiplier = between(random, 0.1F, 2);
  sample.params.dry.base = between(random, 1, 2);
  sample.params.dry.allowed_length = static_cast<std::int32_t>(1 + random() % 4);
  sample.params.dry.window = static_cast<std::int32_t>(random() % 25);
}

TEST(Steps, DryTakesOffWhatPassagesRepeat) { expect_as_reference(set_dry); }

TEST(Steps, NoPassageOfDryGoesBeyondABreaker) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    set_dry(sample, random);
    sample.params.dry.breakers = {static_cast<TokenId>(random() % 3), 7};
  });
}

TEST(Steps, DryComparesPassagesUpToItsLimit) {
  ReferenceCase sample;
  sample.tokens.assign(300, 4);
  sample.params.dry = {.multiplier = 1e-6F, .base = 1.2F, .allowed_length = 2};
  std::minstd_rand random(3);
  const auto logits = random_logits(kStepVocabulary, random);
  expect_near(probabilities_of(logits, sample), reference_probabilities(logits, sample));
}

TEST(Steps, TemperatureDividesLogits) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.temperature = between(random, 0.05F, 5);
  });
}

void set_dynamic_temperature(ReferenceCase& sample, std::minstd_rand& random) {
  sample.params.temperature = between(random, 0.3F, 2);
  sample.params.dynamic_temperature.range = between(random, 0.1F, 1);
  sample.params.dynamic_temperature.exponent = between(random, 0.2F, 3);
}

TEST(Steps, DynamicTemperatureFollowsTheEntropy) { expect_as_reference(set_dynamic_temperature); }

TEST(Steps, TopKKeepsTheMostProbable) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.top_k = static_cast<std::int32_t>(random() % 20);
  });
}

TEST(Steps, TailFreeCutsWhereTheCurvatureEnds) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.tfs_z = between(random, 0.01F, 1);
  });
}

TEST(Steps, TypicalKeepsWhatIsNearTheEntropy) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.typical_p = between(random, 0.01F, 1);
  });
}

TEST(Steps, TopPKeepsTheSmallestSet) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.top_p = between(random, 0, 1);
  });
}

TEST(Steps, MinPKeepsAShareOfTheBest) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.min_p = between(random, 0, 1);
  });
}

TEST(Steps, XtcLeavesTheLeastOfTheTopChoices) {
  expect_as_reference([](ReferenceCase& sample, std::minstd_rand& random) {
    sample.params.xtc = {.probability = 1, .threshold = between(random, 0.01F, 0.5F)};
  });
}

TEST(Steps, BothMirostatsKeepWhatMuAllows) {
  for (const std::int32_t version : {1, 2}) {
    expect_as_reference([&](ReferenceCase& sample, std::minstd_rand& random) {
      sample.params.mirostat = {.version = version, .tau = between(random, 0.2F, 3), .eta = 0.1F};
      if (random() % 2 == 0) sample.mirostat_mu = double{between(random, -1, 6)};
    });
  }
}

void set_everything(ReferenceCase& sample, std::minstd_rand& random) {
  set_dry(sample, random);
  set_penalties(sample, random);
  sample.params.logit_bias = {{1, between(random, -3, 3)}, {2, between(random, -3, 3)}};
  sample.params.bad_tokens = {3};
  sample.end_tokens = {4};
  sample.params.min_tokens = 10;
  set_dynamic_temperature(sample, random);
  sample.params.top_k = 13;
  sample.params.tfs_z = between(random, 0.8F, 0.999F);
  sample.params.typical_p = between(random, 0.7F, 1);
  sample.params.top_p = between(random, 0.7F, 1);
  sample.params.min_p = between(random, 0, 0.2F);
  sample.params.xtc = {.probability = 1, .threshold = between(random, 0.1F, 0.4F)};
  const auto version = static_cast<std::int32_t>(1 + random() % 2);
  sample.params.mirostat = {.version = version, .tau = between(random, 0.3F, 2), .eta = 0.1F};
}

TEST(Steps, AllTogetherAreAsTheReference) { expect_as_reference(set_everything); }

TEST(Steps, SwappingTwoNeighboursWouldShow) {
  // Pairs that give the same in either order: they only take tokens out, or add.
  const std::set<std::string> commuting = {"logit_bias bad_tokens", "bad_tokens allowed_tokens",
                                           "allowed_tokens min_tokens", "min_tokens repetition",
                                           "frequency_and_presence dry"};
  std::minstd_rand random(11);
  std::set<std::string> shown;
  std::set<std::string> all;
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    ReferenceCase sample;
    sample.prompt_tokens = 5;
    sample.tokens = random_tokens(30, kStepVocabulary, random);
    const auto logits = random_logits(kStepVocabulary, random);
    set_everything(sample, random);
    const auto steps = reference_steps(sample);
    const Logits begin(logits.begin(), logits.end());
    const auto want = run_steps(begin, steps);
    bool tells = false;
    for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
      auto swapped = steps;
      std::swap(swapped[step], swapped[step + 1]);
      const std::string names = steps[step].name + " " + steps[step + 1].name;
      all.insert(names);
      const auto other = run_steps(begin, swapped);
      const bool differs = !std::ranges::equal(
          want, other, [](double a, double b) { return std::abs(a - b) < 1e-3; });
      if (differs && shown.insert(names).second) tells = true;
    }
    if (tells) expect_near(probabilities_of(logits, sample), want);
  }
  for (const std::string& names : all) {
    EXPECT_EQ(shown.contains(names), !commuting.contains(names)) << names;
  }
}

TEST(Steps, BiasComesBeforeRepetition) {
  // They are not neighbours, but the steps between them only take tokens out.
  ReferenceCase sample;
  sample.tokens = {0};
  sample.params.logit_bias = {{0, 4}};
  sample.params.penalties.repetition = 2;
  const std::vector<float> logits = {-2, 0, 0};
  // (-2 + 4) / 2 = 1; the other way round it would be -2 * 2 + 4 = 0.
  expect_near(probabilities_of(logits, sample), softmax({1, 0, 0}));
}

TEST(Steps, FsdChoosesByTheNgramsOfTheText) {
  std::minstd_rand random(5);
  int moved = 0;
  for (int i = 0; i < 500; ++i) {
    ReferenceCase sample;
    sample.tokens = random_tokens(random() % 60, 4, random);
    sample.params.fsd.alpha = between(random, 0.05F, 1);
    sample.params.fsd.top_k = static_cast<std::int32_t>(1 + random() % 8);
    sample.params.fsd.max_ngram = static_cast<std::int32_t>(1 + random() % 5);
    // FSD looks at logits that penalties changed.
    sample.params.penalties.presence = -1;
    const auto logits = random_logits(kStepVocabulary, random);
    Logits edited(logits.begin(), logits.end());
    for (const ReferenceStep& step : reference_steps(sample)) {
      if (step.name == "frequency_and_presence") step.run(edited);
    }
    const TokenId got = choose_once(logits, sample);
    ASSERT_EQ(got, reference_fsd(edited, sample)) << "case " << i;
    moved += got != std::ranges::max_element(edited) - edited.begin() ? 1 : 0;
  }
  EXPECT_GT(moved, 50) << "FSD hardly ever differs from the most probable";
}

TEST(Steps, LogprobsOfTheModelAreThoseBeforeAllSteps) {
  std::minstd_rand random(13);
  for (int i = 0; i < kCases; ++i) {
    ReferenceCase sample;
    sample.tokens = random_tokens(30, kStepVocabulary, random);
    set_everything(sample, random);
    sample.params.top_logprobs = 5;
    auto logits = random_logits(kStepVocabulary, random);
    const auto p = softmax({logits.begin(), logits.end()});
    SamplerScratch scratch(kStepVocabulary);
    auto sampler = sampler_of(sample, kStepVocabulary);
    const auto outcome = sampler.sample(logits, scratch);
    ASSERT_NEAR(outcome.logprob, std::log(p[static_cast<std::size_t>(outcome.token)]), 1e-5);
    std::vector<double> best = p;
    std::ranges::sort(best, std::greater<>());
    ASSERT_EQ(outcome.top.size(), 5U);
    for (std::size_t k = 0; k < 5; ++k) {
      ASSERT_NEAR(outcome.top[k].logprob, std::log(best[k]), 1e-5);
      ASSERT_EQ(p[static_cast<std::size_t>(outcome.top[k].token)], best[k]);
    }
  }
}

}  // namespace
}  // namespace weft::test
