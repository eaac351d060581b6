#include "weft/measure/report/charts/thin_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace weft::measure {
namespace {

TEST(ThinPointsTest, AShortLineStaysAsItIs) {
  const Points points = {{0, 1}, {1, 5}, {2, 3}};
  EXPECT_EQ(thin_line(points, 0, 2, 100), points);
}

TEST(ThinPointsTest, ALongLineKeepsEachColumnsEnds) {
  constexpr std::size_t kColumns = 50;
  Points points;
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) points.emplace_back(i, random() % 1000);
  points[54'321].second = 5000;
  points[12'345].second = -5000;
  const Points thin = thin_line(points, 0, 100'000, kColumns);
  EXPECT_LE(thin.size(), 4 * kColumns);
  EXPECT_TRUE(std::ranges::is_sorted(thin));
  EXPECT_EQ(thin.front(), points.front());
  EXPECT_EQ(thin.back(), points.back());
  EXPECT_THAT(thin, testing::Contains(points[54'321]));
  EXPECT_THAT(thin, testing::Contains(points[12'345]));
}

TEST(ThinPointsTest, ALineToAndFroIsThinnedToo) {
  Points points;
  for (int i = 0; i < 100'000; ++i) points.emplace_back(i % 2 * 1000, i);
  const Points thin = thin_line(points, 0, 1000, 100);
  EXPECT_LE(thin.size(), 1600U);
  EXPECT_EQ(thin.front(), points.front());
  EXPECT_EQ(thin.back(), points.back());
}

TEST(ThinPointsTest, AllAtOnePlaceIsOneColumn) {
  const Points points(10'000, {3, 4});
  EXPECT_EQ(thin_line(points, 3, 3, 10).size(), 2U);
  EXPECT_LE(thin_cloud(points, 10).size(), 5U);
}

TEST(ThinPointsTest, ACloudKeepsItsEdges) {
  Points points;
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 50'000; ++i) points.emplace_back(normal(random), normal(random));
  const Points thin = thin_cloud(points, 400);
  EXPECT_LE(thin.size(), 404U);
  EXPECT_GT(thin.size(), 100U);
  const auto by_y = [](const auto& one, const auto& other) { return one.second < other.second; };
  EXPECT_EQ(std::ranges::max(thin), std::ranges::max(points));
  EXPECT_EQ(std::ranges::min(thin), std::ranges::min(points));
  EXPECT_EQ(std::ranges::max(thin, by_y), std::ranges::max(points, by_y));
  EXPECT_EQ(std::ranges::min(thin, by_y), std::ranges::min(points, by_y));
}

}  // namespace
}  // namespace weft::measure
