#include "weft/measure/engine/recipe_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::measure {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(RunsOnHostTest, KnowsWhatAPartitionIsOn) {
  const auto runs = [](const char* partition, const char* replicas) {
    Config config;
    config.partition = partition;
    config.replicas = replicas;
    return runs_on_host(config);
  };
  EXPECT_TRUE(runs("", "1"));
  EXPECT_TRUE(runs("cpu,cpu | cpu", "2"));
  EXPECT_FALSE(runs("cuda:0,cuda:1", "1"));
  EXPECT_FALSE(runs("cuda:0 | cpu", "1"));
  EXPECT_FALSE(runs("", "cuda:0; cuda:1"));
}

TEST(RecipeRunsTest, TokensAreCountedWhenTheyComeWhicheverRequestTheyBelongTo) {
  std::vector<Outcome> outcomes(2);
  outcomes[0].came = {1, 4};
  outcomes[1].began = 1;
  outcomes[1].came = {1, 2};
  EXPECT_THAT(tokens_over_time(outcomes),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2), Pair(3, 3), Pair(4, 4)));
  EXPECT_THAT(tokens_over_time({}), ElementsAre(Pair(0, 0)));
}

TEST(RecipeRunsTest, OfManyTokensSomeStandForAllAndTheLastIsAmongThem) {
  std::vector<Outcome> outcomes(1);
  for (int i = 1; i <= 5000; ++i) outcomes[0].came.push_back(i);
  const auto points = tokens_over_time(outcomes);
  EXPECT_EQ(points.size(), 513U);
  EXPECT_EQ(points.back(), std::pair(5000.0, 5000.0));
  for (const auto& [second, tokens] : points) EXPECT_EQ(second, tokens);
}

TEST(RecipeRunsTest, FiguresOfSeveralRoundsComeWithTheLeastAndTheMost) {
  EXPECT_EQ(with_range({2}, times_text), "2.00x");
  EXPECT_EQ(with_range({3, 1, 2}, times_text), "2.00x [1.00x, 3.00x]");
  EXPECT_EQ(with_range({3, 1}, times_text), "2.00x [1.00x, 3.00x]") << "of two it is no extreme";
}

TEST(RecipeRunsTest, OneAloneIsMeasuredWhenTwoInARowAgree) {
  const AloneTime warmed = settled_time(std::vector<double>{0.132, 0.015, 0.0152, 0.0148});
  EXPECT_TRUE(warmed.has_settled);
  EXPECT_EQ(warmed.seconds, 0.015);
  const AloneTime at_once = settled_time(std::vector<double>{2, 2.1, 2.2});
  EXPECT_TRUE(at_once.has_settled);
  EXPECT_EQ(at_once.seconds, 2.1);
  const AloneTime never = settled_time(std::vector<double>{9, 1, 2, 4});
  EXPECT_FALSE(never.has_settled);
  EXPECT_EQ(never.seconds, 3) << "of the second half";
}

}  // namespace
}  // namespace weft::measure
