#include "weft/measure/load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

std::vector<double> intervals(const std::vector<Arrival>& arrivals) {
  std::vector<double> all;
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    all.push_back(arrivals[i].at - arrivals[i - 1].at);
  }
  return all;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double one : values) sum += one;
  return sum / static_cast<double>(values.size());
}

/// Returns the standard deviation over the mean.
double variation(const std::vector<double>& values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double one : values) sum += (one - middle) * (one - middle);
  return std::sqrt(sum / static_cast<double>(values.size())) / middle;
}

LoadShape many(Process process) {
  LoadShape shape;
  shape.process = process;
  shape.per_second = 20;
  shape.requests = 20'000;
  return shape;
}

TEST(LoadTest, ConstantArrivalsHaveOneIntervalAndTheFirstComesAtOnce) {
  LoadShape shape = many(Process::kConstant);
  shape.requests = 5;
  const auto arrivals = draw(shape, 1);
  ASSERT_EQ(arrivals.size(), 5U);
  EXPECT_EQ(arrivals.front().at, 0);
  for (const double one : intervals(arrivals)) EXPECT_DOUBLE_EQ(one, 0.05);
}

TEST(LoadTest, PoissonArrivalsKeepTheirRateAndVaryAsMuchAsTheyLast) {
  const auto all = intervals(draw(many(Process::kPoisson), 1));
  EXPECT_NEAR(mean(all), 0.05, 0.002);
  EXPECT_NEAR(variation(all), 1, 0.03);
}

TEST(LoadTest, BurstyArrivalsKeepTheirRateAndVaryMore) {
  // A gamma distribution of shape k varies by 1 / sqrt(k).
  const auto all = intervals(draw(many(Process::kBursty), 1));
  EXPECT_NEAR(mean(all), 0.05, 0.004);
  EXPECT_NEAR(variation(all), 2, 0.15);
}

TEST(LoadTest, AllAtOnceIsAtTheBeginning) {
  const auto arrivals = draw(many(Process::kAtOnce), 1);
  EXPECT_TRUE(std::ranges::all_of(arrivals, [](const Arrival& one) { return one.at == 0; }));
}

TEST(LoadTest, TheSeedDecidesAndTheRateLeavesTheLengthsAlone) {
  LoadShape shape = many(Process::kPoisson);
  shape.requests = 50;
  shape.prompt = Lengths::parse("8..64").value();
  shape.output = Lengths::parse("mean:30").value();
  const auto one = draw(shape, 7);
  const auto same = draw(shape, 7);
  const auto other = draw(shape, 8);
  shape.per_second = 3;
  const auto slower = draw(shape, 7);
  const auto lengths = [](const std::vector<Arrival>& all) {
    std::vector<std::int32_t> tokens;
    for (const Arrival& arrival : all) {
      tokens.push_back(arrival.prompt);
      tokens.push_back(arrival.output);
    }
    return tokens;
  };
  EXPECT_EQ(intervals(one), intervals(same));
  EXPECT_EQ(lengths(one), lengths(same));
  EXPECT_NE(intervals(one), intervals(other));
  EXPECT_NE(lengths(one), lengths(other));
  EXPECT_NE(intervals(one), intervals(slower));
  EXPECT_EQ(lengths(one), lengths(slower));
}

TEST(LoadTest, SkewedLengthsHaveTheirMeanAndMoreShortOnesThanLong) {
  LoadShape shape = many(Process::kAtOnce);
  shape.requests = 200'000;
  shape.prompt = Lengths::parse("mean:161").value();
  shape.output = Lengths::parse("mean:161..200").value();
  std::vector<double> prompts;
  std::vector<double> outputs;
  std::int32_t longest = 0;
  for (const Arrival& one : draw(shape, 1)) {
    prompts.push_back(one.prompt);
    outputs.push_back(one.output);
    longest = std::max(longest, one.output);
  }
  EXPECT_NEAR(mean(prompts), 161, 3);
  EXPECT_NEAR(mean(outputs), 161, 1);
  EXPECT_GT(std::ranges::count_if(prompts, [](double one) { return one < 161; }), 130'000);
  EXPECT_EQ(longest, 200);
}

TEST(LoadTest, UniformLengthsReachBothEnds) {
  LoadShape shape = many(Process::kAtOnce);
  shape.prompt = Lengths::parse("3..5").value();
  std::vector<std::int32_t> seen;
  for (const Arrival& one : draw(shape, 1)) seen.push_back(one.prompt);
  EXPECT_EQ(*std::ranges::min_element(seen), 3);
  EXPECT_EQ(*std::ranges::max_element(seen), 5);
}

TEST(LoadTest, LengthsAreReadAsTheyAreWritten) {
  for (const char* text : {"1", "128", "8..64", "mean:161", "mean:161..1024"}) {
    EXPECT_EQ(to_string(Lengths::parse(text).value()), text);
  }
}

TEST(LoadTest, ABadLengthIsRefusedWithWhatItIs) {
  for (const char* text : {"", "0", "-3", "x", "8..", "..8", "9..8", "8..9x", "mean:", "mean:0",
                           "mean:9..8", "1.5", " 8", "99999999999", "16777217"}) {
    const auto lengths = Lengths::parse(text);
    ASSERT_TRUE(lengths.has_error()) << text;
    EXPECT_EQ(lengths.error().code, MeasureErrc::kBadLoad);
    EXPECT_THAT(lengths.error().detail, testing::StartsWith("\"" + std::string(text) + "\""));
  }
}

TEST(LoadTest, TwoLoadsAreMergedByTheirTimes) {
  const auto merged = merge({{0, 1, 1}, {2, 2, 1}}, {{1, 3, 1}, {2, 4, 1}});
  std::vector<std::int32_t> order;
  for (const Arrival& one : merged) order.push_back(one.prompt);
  EXPECT_THAT(order, testing::ElementsAre(1, 3, 2, 4));
}

}  // namespace
}  // namespace weft::measure
