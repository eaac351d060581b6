#include "weft/measure/perplexity/logit_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "weft/measure/perplexity/token_mean.h"

namespace weft::measure {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

/// Returns logits of these probabilities, shifted by a constant, which a softmax ignores.
std::vector<float> logits_of(const std::vector<double>& probabilities, double shift) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + shift));
  return logits;
}

TEST(NegativeLogLikelihood, IsThatOfTheSoftmax) {
  const auto logits = logits_of({0.5, 0.25, 0.125, 0.125}, 80);
  EXPECT_NEAR(negative_log_likelihood(logits, 0), std::log(2.0), 1e-5);
  EXPECT_NEAR(negative_log_likelihood(logits, 3), std::log(8.0), 1e-5);
}

TEST(NegativeLogLikelihood, IsInfiniteForATokenThatIsExcluded) {
  const std::vector<float> logits = {0, -kInfinite};
  EXPECT_EQ(negative_log_likelihood(logits, 0), 0);
  EXPECT_EQ(negative_log_likelihood(logits, 1), static_cast<double>(kInfinite));
}

TEST(NegativeLogLikelihood, IsNoNumberWhereTheLogitsHaveNoSoftmax) {
  for (const float bad : {kNoNumber, kInfinite}) {
    for (std::size_t at = 0; at < 3; ++at) {
      std::vector<float> logits = {1, 2, 3};
      logits[at] = bad;
      EXPECT_TRUE(std::isnan(negative_log_likelihood(logits, 1))) << bad << " at " << at;
      EXPECT_TRUE(std::isnan(divergence(logits, std::vector<float>{1, 2, 3}))) << bad;
      EXPECT_TRUE(std::isnan(divergence(std::vector<float>{1, 2, 3}, logits))) << bad;
    }
  }
  EXPECT_TRUE(std::isnan(negative_log_likelihood(std::vector<float>{-kInfinite}, 0)));
}

TEST(Divergence, IsTheReferencesExpectationOfTheRatiosLogarithm) {
  const auto p = logits_of({0.5, 0.25, 0.25}, 3);
  const auto q = logits_of({0.25, 0.25, 0.5}, -7);
  const double forward = 0.5 * std::log(2.0) - 0.25 * std::log(2.0);
  EXPECT_NEAR(divergence(p, q), forward, 1e-6);
  EXPECT_EQ(divergence(p, p), 0);
  const auto narrow = logits_of({0.9, 0.05, 0.05}, 0);
  // It is not symmetric.
  EXPECT_NEAR(divergence(narrow, p), 0.9 * std::log(1.8) + 0.1 * std::log(0.2), 1e-6);
  EXPECT_NEAR(divergence(p, narrow), 0.5 * std::log(0.5 / 0.9) + 0.5 * std::log(5.0), 1e-6);
}

TEST(Divergence, SkipsWhatTheReferenceExcludesAndIsInfiniteTheOtherWayRound) {
  const std::vector<float> both = {0, 0};
  const std::vector<float> one = {0, -kInfinite};
  EXPECT_NEAR(divergence(one, both), std::log(2.0), 1e-12);
  EXPECT_EQ(divergence(both, one), static_cast<double>(kInfinite));
}

TEST(TopToken, IsTheFirstOfTheLargest) { EXPECT_EQ(top_token(std::vector<float>{1, 3, 3, 2}), 1U); }

TEST(TokenMean, HasTheStandardErrorOfAMean) {
  TokenMean mean;
  EXPECT_EQ(mean.error(), 0);
  for (const double value : {2.0, 4.0, 4.0, 6.0}) mean.add(1e6 + value);
  EXPECT_EQ(mean.count(), 4);
  EXPECT_DOUBLE_EQ(mean.mean(), 1e6 + 4);
  EXPECT_NEAR(mean.error(), std::sqrt(8.0 / 3 / 4), 1e-6);
}

}  // namespace
}  // namespace weft::measure
