#include "weft/kernels/sample/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "weft/kernels/sample/philox.h"
#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

TokenId draw(std::span<const float> logits, const SampleParams& params) {
  std::vector<std::uint64_t> scratch(2 * logits.size(), ~std::uint64_t{0});
  return sample(logits, params, scratch);
}

/// The probability of each id by the definition: filters one after the other over sorted ids.
std::vector<double> probabilities(std::span<const float> logits, const SampleParams& params) {
  const double best = *std::ranges::max_element(logits);
  std::vector<std::size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0U);
  std::ranges::stable_sort(ids,
                           [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (params.top_k > 0) {
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(params.top_k)));
  }
  std::vector<double> weight(logits.size());
  double total = 0;
  for (const std::size_t id : ids) {
    total += weight[id] = std::exp((logits[id] - best) / params.temperature);
  }
  double mass = 0;
  std::size_t kept = 0;
  while (kept < ids.size() && (kept == 0 || mass < params.top_p * total))
    mass += weight[ids[kept++]];
  ids.resize(kept);
  std::erase_if(ids, [&](std::size_t id) { return weight[id] < params.min_p; });
  double sum = 0;
  for (const std::size_t id : ids) sum += weight[id];
  std::vector<double> result(logits.size(), 0.0);
  for (const std::size_t id : ids) result[id] = weight[id] / sum;
  return result;
}

/// The statistic of Pearson's test of `draws` draws against what is expected; ids that are expected
/// less than 5 times count together.
void expect_distribution(std::span<const float> logits, SampleParams params) {
  constexpr int kDraws = 3000;
  const std::vector<double> want = probabilities(logits, params);
  std::vector<int> seen(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    params.draw = static_cast<std::uint64_t>(i);
    const TokenId id = draw(logits, params);
    ASSERT_NE(id, kNoToken);
    ASSERT_GT(want[static_cast<std::size_t>(id)], 0) << "a token that was cut off: " << id;
    ++seen[static_cast<std::size_t>(id)];
  }
  double statistic = 0;
  double rare_seen = 0;
  double rare_want = 0;
  int cells = -1;
  const auto count = [&](double observed, double expected) {
    statistic += (observed - expected) * (observed - expected) / expected;
    ++cells;
  };
  for (std::size_t id = 0; id < want.size(); ++id) {
    const double expected = want[id] * kDraws;
    if (expected >= 5) {
      count(seen[id], expected);
    } else {
      rare_seen += seen[id];
      rare_want += expected;
    }
  }
  if (rare_want >= 5) count(rare_seen, rare_want);
  // Wilson and Hilferty's approximation of the quantile at 1 - 1e-5; the seed is fixed.
  const double n = std::max(cells, 1);
  const double limit = n * std::pow(1 - 2 / (9 * n) + 4.265 * std::sqrt(2 / (9 * n)), 3);
  EXPECT_LE(statistic, limit) << cells << " degrees of freedom";
}

TEST(SampleTest, DrawsFromTheDistributionThatTheParametersDescribe) {
  Random random(1);
  const auto logits = random.numbers(100, -4, 4);
  for (const float temperature : {0.5F, 3.0F}) {
    for (const std::int32_t top_k : {0, 20, 5000}) {
      for (const float top_p : {1.0F, 0.7F}) {
        for (const float min_p : {0.0F, 0.1F}) {
          SCOPED_TRACE(testing::Message() << temperature << " top_k " << top_k << " top_p " << top_p
                                          << " min_p " << min_p);
          expect_distribution(logits, {.temperature = temperature,
                                       .top_p = top_p,
                                       .top_k = top_k,
                                       .min_p = min_p,
                                       .seed = 42});
        }
      }
    }
  }
}

/// All ids that come up, of those that a filter leaves.
std::set<TokenId> drawn(std::span<const float> logits, SampleParams params) {
  std::set<TokenId> ids;
  for (int i = 0; i < 1000; ++i) {
    params.draw = static_cast<std::uint64_t>(i);
    ids.insert(draw(logits, params));
  }
  return ids;
}

TEST(SampleTest, KeepsExactlyTheTokensOfEachFilter) {
  // Probabilities 1/2, 1/4, 1/8, 1/8, in an order of ids that is not theirs.
  const std::vector<float> logits{0, std::log(2.0F), std::log(4.0F), 0};
  using Ids = std::set<TokenId>;
  EXPECT_EQ(drawn(logits, {.temperature = 1}), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_k = 3}), (Ids{0, 1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.8F}), (Ids{0, 1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.6F}), (Ids{1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.4F}), (Ids{2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0}), (Ids{2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .min_p = 0.3F}), (Ids{1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 1, .min_p = 1}), (Ids{2}));
  // top_p counts what top_k has left: 0.6 of 3/4 is reached by the first alone.
  EXPECT_EQ(drawn(logits, {.temperature = 1, .top_p = 0.6F, .top_k = 2}), (Ids{2}));
  // The temperature comes first: at 1/2 the shares are 16, 4, 1, 1.
  EXPECT_EQ(drawn(logits, {.temperature = 0.5F, .top_p = 0.8F}), (Ids{1, 2}));
  EXPECT_EQ(drawn(logits, {.temperature = 0.5F, .min_p = 0.2F}), (Ids{1, 2}));
}

TEST(SampleTest, TakesTheBestWhenTheTemperatureIsZero) {
  EXPECT_EQ(sample(std::vector<float>{1, 5, -2, 5}, {}, {}), 1) << "ties to the lower";
  EXPECT_EQ(sample(std::vector<float>{kNaN, -3, kNaN, -2}, {}, {}), 3);
  EXPECT_EQ(sample(std::vector<float>{kNaN, kInf, kInf}, {}, {}), 1);
}

TEST(SampleTest, FindsNoTokenWhereThereIsNoNumber) {
  for (const float temperature : {0.0F, 1.0F}) {
    const SampleParams params{.temperature = temperature, .top_p = 0.5F, .top_k = 2};
    EXPECT_EQ(draw({}, params), kNoToken);
    EXPECT_EQ(draw(std::vector<float>{kNaN, kNaN, kNaN}, params), kNoToken);
    EXPECT_EQ(draw(std::vector<float>{-kInf, kNaN, -kInf}, params), kNoToken);
  }
}

TEST(SampleTest, NeverDrawsWhatIsNoNumberWhateverTheParameters) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> rows{
      {kNaN, 1, -kInf, 2, kNaN},      {kInf, 3, kInf, kNaN, -kInf}, {7, 7, 7, 7, 7},
      {-kMax, kMax, 0, kNaN, -kInf},  {-kInf, -kInf, -kMax, kNaN},  {kTiny, 0, -kTiny, kNaN},
      {-kInf, kNaN, kInf, kMax, kInf}};
  for (const auto& row : rows) {
    for (const float temperature : {kTiny, 1e-30F, 1.0F, 999999.0F, kMax, kInf}) {
      for (const std::int32_t top_k : {-1, 0, 1, 3, 2'000'000'000}) {
        for (const float top_p : {-1.0F, 0.0F, 0.5F, 1.0F, 7.0F, kNaN, kInf}) {
          for (const float min_p : {-1.0F, 0.0F, 0.5F, 1.0F, 9.0F, kNaN}) {
            const TokenId id = draw(row, {.temperature = temperature,
                                          .top_p = top_p,
                                          .top_k = top_k,
                                          .min_p = min_p,
                                          .seed = 5});
            ASSERT_GE(id, 0);
            const float chosen = row[static_cast<std::size_t>(id)];
            ASSERT_GT(chosen, -kInf);
            const float best = *std::ranges::max_element(
                row, [](float a, float b) { return std::isnan(a) || a < b; });
            if (std::isinf(best)) {
              ASSERT_EQ(chosen, best);
            }
          }
        }
      }
    }
  }
}

TEST(SampleTest, DrawsInfinitiesEquallyAndAllEqualLogitsEvenly) {
  EXPECT_EQ(drawn(std::vector<float>{kInf, 3, kInf, kNaN}, {.temperature = 1}),
            (std::set<TokenId>{0, 2}));
  expect_distribution(std::vector<float>(50, -3.25F), {.temperature = 0.7F, .seed = 3});
  expect_distribution(std::vector<float>(50, 1e30F), {.temperature = 1, .top_p = 0.5F, .seed = 4});
}

TEST(SampleTest, DrawsTheSameAgainAndOtherwiseForAnotherSeedOrPlace) {
  Random random(2);
  const auto logits = random.numbers(1000);
  const SampleParams params{.temperature = 1, .seed = 7, .draw = 3};
  EXPECT_EQ(draw(logits, params), draw(logits, params));
  int same = 0;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    SampleParams other = params;
    other.seed += i << 32;
    same += draw(logits, other) == draw(logits, params) ? 1 : 0;
    other = params;
    other.draw += i << 32;
    same += draw(logits, other) == draw(logits, params) ? 1 : 0;
  }
  EXPECT_LE(same, 3);
}

/// Logits in the orders that a partial selection is slow or wrong for.
std::vector<std::vector<float>> large_rows(std::size_t count) {
  Random random(3);
  std::vector<float> ascending(count);
  for (std::size_t i = 0; i < count; ++i) ascending[i] = static_cast<float>(i) * 1e-4F;
  std::vector<float> descending(ascending.rbegin(), ascending.rend());
  std::vector<float> steps(count);
  for (std::size_t i = 0; i < count; ++i) steps[i] = static_cast<float>(i % 7);
  return {ascending, descending, steps, random.numbers(count, -20, 10)};
}

TEST(SampleTest, CutsLargeVocabulariesWhereASortWould) {
  for (const auto& logits : large_rows(5'000)) {
    for (const std::int32_t top_k : {0, 2, 50, 3000, 4'999}) {
      for (const float top_p : {1.0F, 0.95F, 0.2F}) {
        const SampleParams params{.temperature = 1, .top_p = top_p, .top_k = top_k, .seed = 11};
        const auto want = probabilities(logits, params);
        double passed = 0;
        const double mark = uniform(11, 0);
        std::size_t id = 0;
        while (id + 1 < want.size() && (want[id] == 0 || (passed += want[id]) <= mark)) ++id;
        // Sums in float32 may carry the mark to a neighbour among those kept.
        const auto got = static_cast<std::size_t>(draw(logits, params));
        ASSERT_GT(want[got], 0);
        double between = 0;
        for (std::size_t i = std::min(id, got) + 1; i < std::max(id, got); ++i) between += want[i];
        ASSERT_LE(between, 1e-5) << "drew " << got << " for " << id << ", top_k " << top_k
                                 << ", top_p " << top_p;
      }
    }
  }
}

TEST(SampleTest, NoticesScratchThatIsTooSmall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::vector<float> logits{1, 2, 3};
  std::vector<std::uint64_t> scratch(5);
  WEFT_EXPECT_BUG((void)sample(logits, {.temperature = 1}, scratch), "scratch is smaller than 2");
}

/// The known answers that come with the authors' Random123.
TEST(PhiloxTest, GivesTheKnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, MakesNumbersFromZeroToBelowOne) {
  double least = 1;
  double greatest = 0;
  double sum = 0;
  constexpr int kCount = 100'000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double number = uniform(1, i);
    least = std::min(least, number);
    greatest = std::max(greatest, number);
    sum += number;
  }
  EXPECT_GE(least, 0);
  EXPECT_LT(greatest, 1);
  EXPECT_LT(least, 1e-4);
  EXPECT_GT(greatest, 1 - 1e-4);
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
}

}  // namespace
}  // namespace weft
