#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "weft/core/token.h"

namespace weft::test {

/// Pearson's test of 4000 draws against probabilities; cells that are expected less than 5 times
/// count together. Seeds are fixed, so a right sampler passes always; the limit is the value that
/// one in 100,000 right samplers would exceed (Wilson and Hilferty's approximation).
inline void expect_distribution(const std::vector<double>& probabilities,
                                const std::function<TokenId(std::size_t)>& draw) {
  constexpr std::size_t kDraws = 4000;
  std::vector<double> seen(probabilities.size());
  for (std::size_t i = 0; i < kDraws; ++i) {
    const TokenId token = draw(i);
    ASSERT_NE(token, kNoToken);
    ASSERT_GT(probabilities[static_cast<std::size_t>(token)], 0) << "a token taken out: " << token;
    ++seen[static_cast<std::size_t>(token)];
  }
  double statistic = 0;
  double rare_seen = 0;
  double rare_expected = 0;
  int cells = 0;
  const auto add = [&](double observed, double expected) {
    statistic += (observed - expected) * (observed - expected) / expected;
    ++cells;
  };
  for (std::size_t id = 0; id < seen.size(); ++id) {
    const double expected = probabilities[id] * static_cast<double>(kDraws);
    if (expected >= 5) {
      add(seen[id], expected);
    } else {
      rare_seen += seen[id];
      rare_expected += expected;
    }
  }
  if (rare_expected >= 5) add(rare_seen, rare_expected);
  if (cells < 2) return;
  constexpr double kQuantile = 4.265;  // of the normal distribution, at 1 - 1e-5
  const double k = cells - 1;
  const double limit = k * std::pow(1 - 2 / (9 * k) + kQuantile * std::sqrt(2 / (9 * k)), 3);
  EXPECT_LT(statistic, limit) << "with " << cells << " cells";
}

}  // namespace weft::test
