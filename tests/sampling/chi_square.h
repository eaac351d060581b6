#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "weft/core/token.h"

namespace weft::test {

/// Pearson's statistic of draws against probabilities, and its limit.
struct ChiSquare {
  double statistic = 0;
  /// The value that one in 100,000 right samplers would exceed: p = 1e-5 (Wilson and Hilferty's
  /// approximation).
  double limit = 0;
  int cells = 0;  ///< that count on their own; below two there is nothing to compare
};

/// Compares how often each cell was `seen` with its probability. Cells that are expected less than
/// 5 times count together.
inline ChiSquare chi_square(const std::vector<double>& probabilities,
                            const std::vector<double>& seen) {
  const double draws = std::accumulate(seen.begin(), seen.end(), 0.0);
  ChiSquare result;
  const auto add = [&](double observed, double expected) {
    result.statistic += (observed - expected) * (observed - expected) / expected;
    ++result.cells;
  };
  double rare_seen = 0;
  double rare_expected = 0;
  for (std::size_t id = 0; id < seen.size(); ++id) {
    const double expected = probabilities[id] * draws;
    if (expected >= 5) {
      add(seen[id], expected);
    } else {
      rare_seen += seen[id];
      rare_expected += expected;
    }
  }
  if (rare_expected >= 5) add(rare_seen, rare_expected);
  if (result.cells < 2) return result;
  constexpr double kQuantile = 4.265;  // of the normal distribution, at 1 - 1e-5
  const double k = result.cells - 1;
  result.limit = k * std::pow(1 - 2 / (9 * k) + kQuantile * std::sqrt(2 / (9 * k)), 3);
  return result;
}

/// Tests 4000 draws against probabilities (ChiSquare). Seeds are fixed, so a right sampler passes
/// always.
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
  const ChiSquare found = chi_square(probabilities, seen);
  if (found.cells < 2) return;
  EXPECT_LT(found.statistic, found.limit) << "with " << found.cells << " cells";
}

}  // namespace weft::test
