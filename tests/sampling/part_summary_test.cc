#include "weft/sampling/part_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "weft/sampling/sampler.h"
#include "weft/sampling/token_constraint.h"

namespace weft {
namespace {

constexpr std::size_t kPartedVocabulary = 1000;
constexpr float kEndless = std::numeric_limits<float>::infinity();

std::vector<float> normal_logits(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, 3);
  std::vector<float> logits(kPartedVocabulary);
  for (float& logit : logits) logit = draw(random);
  return logits;
}

/// The logits that three ranks tell the first of.
struct Joined {
  Joined(const std::vector<float>& whole, LogitNeeds needs) : logits(whole.size(), 7.0F) {
    std::vector<float> numbers(3 * static_cast<std::size_t>(kPartNumbers));
    for (std::size_t part = 0; part < 3; ++part) {
      const std::size_t first = whole.size() * part / 3;
      const std::size_t end = whole.size() * (part + 1) / 3;
      tell_part(std::span(whole).subspan(first, end - first), static_cast<std::int64_t>(first),
                needs,
                std::span(numbers).subspan(part * static_cast<std::size_t>(kPartNumbers),
                                           static_cast<std::size_t>(kPartNumbers)));
    }
    shift = join_parts(numbers, needs, logits);
  }

  std::vector<float> logits;
  float shift = 0;
};

/// A choice and its logprobs, which do not borrow.
struct PartChoice {
  TokenId token = kNoToken;
  float logprob = 0, mirostat_mu = 0;
  std::vector<TokenLogprob> top;
};

PartChoice choose_by(const SamplingParams& params, std::vector<float> logits, std::uint64_t seed) {
  Sampler sampler(kPartedVocabulary, 8);
  SamplerScratch scratch(kPartedVocabulary);
  sampler.start(std::make_shared<const SamplingParams>(params), {}, seed, 0);
  const SampleOutcome outcome = sampler.sample(logits, scratch);
  return {outcome.token,
          outcome.logprob,
          outcome.mirostat_mu,
          {outcome.top.begin(), outcome.top.end()}};
}

/// Allows every token.
class NoConstraint final : public TokenConstraint {
 public:
  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override { return nullptr; }
};

SamplingParams with_top_k(std::int32_t top_k) {
  SamplingParams params;
  params.top_k = top_k;
  return params;
}

/// Every step that may follow top_k.
std::vector<SamplingParams> ways_to_draw() {
  std::vector<SamplingParams> ways{with_top_k(1), with_top_k(40), with_top_k(64)};
  ways.emplace_back().temperature = 0;
  ways.emplace_back(with_top_k(50)).temperature = 0.7F;
  ways.back().top_p = 0.8F;
  ways.emplace_back(with_top_k(20)).min_p = 0.05F;
  ways.emplace_back(with_top_k(30)).tfs_z = 0.9F;
  ways.emplace_back(with_top_k(30)).typical_p = 0.7F;
  ways.emplace_back(with_top_k(30)).xtc = {.probability = 0.5F, .threshold = 0.05F};
  ways.emplace_back(with_top_k(30)).mirostat.version = 2;
  ways.emplace_back(with_top_k(30)).mirostat.version = 1;
  return ways;
}

TEST(PartSummary, GivesTheChoicesThatAllLogitsGive) {
  const auto ways = ways_to_draw();
  for (std::size_t way = 0; way < ways.size(); ++way) {
    ASSERT_NE(logit_needs(ways[way]), LogitNeeds::kAll) << way;
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      const std::vector<float> logits = normal_logits(seed);
      const PartChoice wanted = choose_by(ways[way], logits, seed);
      const PartChoice got =
          choose_by(ways[way], Joined(logits, LogitNeeds::kCandidates).logits, seed);
      ASSERT_EQ(got.token, wanted.token) << "way " << way << ", seed " << seed;
      ASSERT_EQ(got.mirostat_mu, wanted.mirostat_mu) << "way " << way << ", seed " << seed;
    }
  }
}

TEST(PartSummary, GivesTheLogprobsOfAllLogits) {
  SamplingParams params = with_top_k(40);
  params.logprobs = true;
  params.top_logprobs = 20;
  ASSERT_EQ(logit_needs(params), LogitNeeds::kCandidatesAndSum);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> logits = normal_logits(seed);
    const PartChoice wanted = choose_by(params, logits, seed);
    const Joined joined(logits, LogitNeeds::kCandidatesAndSum);
    EXPECT_LT(joined.shift, 0) << "what was not told weighs something";
    const PartChoice got = choose_by(params, joined.logits, seed);
    EXPECT_NEAR(got.logprob + joined.shift, wanted.logprob, 2e-6) << seed;
    ASSERT_EQ(got.top.size(), wanted.top.size());
    for (std::size_t i = 0; i < wanted.top.size(); ++i) {
      EXPECT_EQ(got.top[i].token, wanted.top[i].token);
      EXPECT_NEAR(got.top[i].logprob + joined.shift, wanted.top[i].logprob, 2e-6);
    }
  }
}

TEST(PartSummary, TellsNothingOfWhatIsNeverChosen) {
  std::vector<float> logits(kPartedVocabulary, -kEndless);
  logits[1] = std::nanf("");
  EXPECT_EQ(choose_by(with_top_k(5), Joined(logits, LogitNeeds::kCandidates).logits, 1).token,
            kNoToken);
  logits[700] = -3;
  const Joined joined(logits, LogitNeeds::kCandidatesAndSum);
  EXPECT_EQ(choose_by(with_top_k(5), joined.logits, 1).token, 700);
  EXPECT_EQ(joined.shift, 0);
  logits[2] = logits[999] = kEndless;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(choose_by(with_top_k(5), Joined(logits, LogitNeeds::kCandidates).logits, seed).token,
              choose_by(with_top_k(5), logits, seed).token);
  }
}

TEST(PartSummary, TakesTheLowerTokenOfEqualLogits) {
  const std::vector<float> logits(kPartedVocabulary, 1.5F);
  const Joined joined(logits, LogitNeeds::kCandidates);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(choose_by(with_top_k(7), joined.logits, seed).token,
              choose_by(with_top_k(7), logits, seed).token);
  }
}

TEST(LogitNeeds, AreAllOfThemWhereMoreThanTheGreatestCount) {
  std::vector<SamplingParams> ways(2);
  ways[1].top_p = 0.9F;
  ways.push_back(with_top_k(kPartCandidates + 1));
  ways.emplace_back(with_top_k(5)).logit_bias = {{1, 0.5F}};
  ways.emplace_back(with_top_k(5)).bad_tokens = {1};
  ways.emplace_back(with_top_k(5)).allowed_tokens = {1};
  ways.emplace_back(with_top_k(5)).min_tokens = 1;
  ways.emplace_back(with_top_k(5)).penalties.repetition = 1.1F;
  ways.emplace_back(with_top_k(5)).penalties.frequency = 0.1F;
  ways.emplace_back(with_top_k(5)).penalties.presence = 0.1F;
  ways.emplace_back(with_top_k(5)).dry.multiplier = 1;
  ways.emplace_back(with_top_k(5)).fsd.alpha = 0.5F;
  ways.emplace_back(with_top_k(5)).beams.num_beams = 2;
  ways.emplace_back(with_top_k(5)).dynamic_temperature.range = 0.5F;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    EXPECT_EQ(logit_needs(ways[way]), LogitNeeds::kAll) << way;
  }
}

TEST(LogitNeeds, IncludeTheSumForLogprobsOfTheModelAlone) {
  SamplingParams params = with_top_k(5);
  EXPECT_EQ(logit_needs(params), LogitNeeds::kCandidates);
  params.best_of = 2;
  EXPECT_EQ(logit_needs(params), LogitNeeds::kCandidatesAndSum);
  params.logprobs_after_samplers = true;
  EXPECT_EQ(logit_needs(params), LogitNeeds::kCandidates);
}

TEST(PartSummary, WantsAllLogitsWhereAConstraintChoosesAmongThem) {
  SamplingParams params;
  params.temperature = 0;
  EXPECT_EQ(logit_needs(params), LogitNeeds::kCandidates);
  params.constraint = std::make_shared<const NoConstraint>();
  EXPECT_EQ(logit_needs(params), LogitNeeds::kAll);
}

}  // namespace
}  // namespace weft
