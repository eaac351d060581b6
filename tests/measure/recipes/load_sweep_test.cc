#include "weft/measure/recipes/load_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/tests/measure/engine/tiny_model.h"

namespace weft::measure {
namespace {

using test::tiny_model;

RecipeSetup small_setup() {
  RecipeSetup setup{.model = tiny_model()};
  setup.config.threads = 1;
  setup.config.max_rows = 4;
  setup.scale = 0.2;
  return setup;
}

TEST(LoadSweepTest, ACurveIsFollowedToWhereItRisesAboveALatency) {
  const std::vector<std::pair<double, double>> curve = {{1, 10}, {2, 20}, {4, 60}};
  EXPECT_DOUBLE_EQ(largest_within(curve, 40).value(), 3);
  EXPECT_DOUBLE_EQ(largest_within(curve, 20).value(), 2);
  EXPECT_DOUBLE_EQ(largest_within(curve, 1000).value(), 4);
  EXPECT_FALSE(largest_within(curve, 9).has_value());
  EXPECT_FALSE(largest_within({}, 9).has_value());
  // A later fall does not count.
  EXPECT_DOUBLE_EQ(largest_within({{1, 10}, {2, 30}, {3, 5}}, 20).value(), 1.5);
}

TEST(LoadSweepTest, AtEqualLatencyTheFirstIsComparedWhereBothHaveOne) {
  const std::vector<LatencyCurve> curves = {{"ours", {{1, 1}, {10, 4}}},
                                            {"theirs", {{1, 2.5}, {2, 4.5}}}};
  const AtEqualLatency equal(curves, 1);
  // At twice the latency the second curve is above it. At three times they bear 7 and 1.25.
  EXPECT_FALSE(equal.rows[0].most[1].has_value());
  EXPECT_DOUBLE_EQ(*equal.rows[1].most[0], 7);
  EXPECT_DOUBLE_EQ(*equal.rows[1].most[1], 1.25);
  EXPECT_THAT(equal.finding(curves, 1), testing::HasSubstr("5.60x"));
  const Table table = equal.table(curves, "title");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_THAT(table.rows[0], testing::ElementsAre("2x", "4", "-"));
  EXPECT_EQ(equal.json(curves).size(), 4U);
}

TEST(LoadSweepTest, WhereNoLatencyIsReachedByBothThatIsSaid) {
  const std::vector<LatencyCurve> curves = {{"ours", {{1, 1}}}, {"theirs", {{1, 99}}}};
  EXPECT_THAT(AtEqualLatency(curves, 1).finding(curves, 1), testing::HasSubstr("no latency"));
}

TEST(LoadSweepTest, LengthsAreDividedUntilTheyFitTheContext) {
  const RequestLengths lengths{{Lengths::Kind::kUniform, 32, 512, 272}, fixed_length(128)};
  // They may have 640 tokens, and the context has 256. An hour is enough for any request.
  EXPECT_EQ(length_divisor(small_setup(), lengths, 3600), 4);
  const RequestLengths fitting = divided(lengths, 4);
  EXPECT_EQ(to_string(fitting.prompt), "8..128");
  EXPECT_EQ(to_string(fitting.output), "32");
  EXPECT_EQ(fitting.longest(), 160);
  EXPECT_EQ(to_string(divided(lengths, 1000).prompt), "1..1");
}

TEST(LoadSweepTest, LengthsAreDividedUntilTheHostIsFastEnough) {
  const RequestLengths lengths{fixed_length(64), fixed_length(64)};
  EXPECT_GT(length_divisor(small_setup(), lengths, 1e-6), 64);
}

TEST(LoadSweepTest, EachRateIsPlayedWithTheSameRequestsAtItsOwnPace) {
  RecipeSetup setup = small_setup();
  std::vector<std::string> parts;
  setup.begin_part = [&](std::string_view part) { parts.emplace_back(part); };
  const RequestLengths lengths{fixed_length(8), {Lengths::Kind::kUniform, 2, 9, 5.5}};
  const std::vector<double> rates = {200, 400};
  Config batches = setup.config;
  batches.policy = BatchPolicy::kStatic;
  const std::vector<Contender> contenders = {{"one", setup.config}, {"other", batches}};
  const auto curves = sweep(setup, "here, ", contenders, lengths, rates, 0.01);
  EXPECT_THAT(parts,
              testing::ElementsAre("here, one, 200 requests/s", "here, other, 200 requests/s",
                                   "here, one, 400 requests/s", "here, other, 400 requests/s"));
  ASSERT_EQ(curves.size(), 2U);
  const LoadCurve& curve = curves.front();
  EXPECT_EQ(curve.name, "one");
  EXPECT_EQ(curves.back().points.size(), 2U);
  ASSERT_EQ(curve.points.size(), 2U);
  // There are at least 24 requests, of which the scale leaves a fifth.
  for (const LoadPoint& point : curve.points) {
    ASSERT_EQ(point.arrivals.size(), 5U);
    EXPECT_NEAR(point.arrivals.back().at, 4 / point.rate, 1e-9);
    EXPECT_EQ(point.summary.done, 5U);
    EXPECT_GE(point.batch, 1);
    EXPECT_FALSE(point.steps.empty());
  }
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(curve.points[0].arrivals[i].output, curve.points[1].arrivals[i].output);
  }
}

TEST(LoadSweepTest, UnderFullLoadTheRowsAreFullWhileSomeWait) {
  RecipeSetup setup = small_setup();
  setup.scale = 1;
  const FullLoad full =
      measure_full_load(setup, "all", setup.config, {fixed_length(4), fixed_length(60)});
  EXPECT_GE(full.batch, 1);
  EXPECT_LE(full.batch, 4);
  EXPECT_NEAR(full.tokens_per_second, 60 * full.requests_per_second, 1e-6);
}

}  // namespace
}  // namespace weft::measure
