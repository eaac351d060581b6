#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weft/measure/recipe.h"
#include "weft/tests/measure/engine/tiny_model.h"
#include "weft/tests/measure/recipes/recipe_reports.h"

namespace weft::measure {
namespace {

using test::expect_whole;
using test::report_of;
using test::series_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FloverRecipesTest, ConstantIntervalsCompareThePoliciesUpToAllRequests) {
  const Report report = report_of("flover-constant", 0.13);
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 2U);
  // 1, 2 and 4 of the 4 requests that the scale leaves.
  EXPECT_EQ(report.tables[0].rows.size(), 3U);
  ASSERT_EQ(report.figures.size(), 3U);
  EXPECT_THAT(series_of(report.figures[0]), ElementsAre("fusion", "static", "instances"));
  EXPECT_TRUE(report.figures[2].series.back().of_paper);
  EXPECT_EQ(report.data.at("runs").as_array().size(), 3U);
}

TEST(FloverRecipesTest, PoissonArrivalsShowOverlapAndIterationsBesideThePapers) {
  const Report report = report_of("flover-poisson", 0.13);
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 1U);
  EXPECT_EQ(report.tables[0].rows.size(), 6U);
  const auto& runs = report.data.at("runs").as_array();
  // 4 requests of 8 tokens, together at best and one after the other at worst.
  for (const auto& run : runs) {
    const auto iterations = run.at("fusion").at("iterations").as_uint64();
    EXPECT_GE(iterations, 8U);
    EXPECT_LE(iterations, 4U * 9U);
  }
  EXPECT_EQ(report.figures.size(), 3U);
}

TEST(FloverRecipesTest, ProgressHasACurveForEachPolicyUpToAllTokens) {
  const Report report = report_of("flover-progress", 0.13);
  expect_whole(report);
  ASSERT_EQ(report.figures.size(), 1U);
  ASSERT_EQ(report.figures[0].series.size(), 7U);
  // 4 requests of 8 tokens.
  for (const Series& one : report.figures[0].series) {
    EXPECT_EQ(one.points.back().second, 4 * 8) << one.name;
  }
  EXPECT_THAT(report.tables[1].note, HasSubstr("by construction"));
}

TEST(FloverRecipesTest, ShuffleComparesLayoutsAndHolesAndSaysWhatMovingCosts) {
  const Report report = report_of("flover-shuffle", 0.25);
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 2U);
  EXPECT_EQ(report.tables[0].rows.size(), 4U);
  EXPECT_THAT(series_of(report.figures[0]), ElementsAre("pages", "slabs", "no shuffle"));
  const auto& widest = report.data.at("runs").at(3).at("rounds").at(0);
  // With pages nothing but a row's dense state moves.
  EXPECT_EQ(widest.at("pages").at("moved_bytes").as_int64(), 0);
  EXPECT_GE(widest.at("slabs").at("moved_bytes").as_int64(), 0);
  EXPECT_GT(widest.at("pages").at("device_seconds").as_double(), 0);
}

TEST(FloverRecipesTest, PoliciesStandBesideBatchesThatAreKeptFull) {
  RecipeSetup setup = test::small_setup(0.25);
  setup.repeats = 2;
  const Report report = find_recipe("policies")->run(setup);
  expect_whole(report);
  ASSERT_EQ(report.tables.size(), 4U);
  ASSERT_EQ(report.tables[0].rows.size(), 6U);
  // The cell has the least and the most of both rounds.
  EXPECT_THAT(report.tables[0].rows[1][7], testing::MatchesRegex(".*x \\[.*x, .*x\\]"));
  EXPECT_EQ(report.tables[0].rows[2][0], "static, padded (computed)");
  EXPECT_EQ(report.data.at(0).at("rounds").as_array().size(), 2U);
  // Closed batches of 1, 2, 4 and 8 of the 8 rows.
  EXPECT_EQ(report.tables[1].rows.size(), 4U);
  EXPECT_EQ(report.tables[1].rows[0][2], "1.00x");
  EXPECT_EQ(report.figures.size(), 2U);
}

}  // namespace
}  // namespace weft::measure
