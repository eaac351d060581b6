#include "weft/actors/replica_loads.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/schedule/group.h"

namespace weft {
namespace {

GroupSpec asking(std::size_t prompt, std::int32_t max_tokens, std::int32_t sequences = 1) {
  GroupSpec spec;
  spec.prompt.resize(prompt);
  spec.max_tokens = max_tokens;
  spec.sequences = sequences;
  return spec;
}

TEST(ReplicaLoadsTest, ChoosesTheLeastLoadAndOfEqualOnesEachInTurn) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 3);
  std::vector<ReplicaLoads::Share> shares;
  const auto choose = [&](std::size_t prompt) {
    shares.push_back(loads.choose(asking(prompt, 10)));
    return shares.back().replica();
  };
  EXPECT_EQ(choose(90), 0U);
  EXPECT_EQ(choose(40), 1U);
  EXPECT_EQ(choose(20), 2U);  // 100, 50, 30
  EXPECT_EQ(choose(5), 2U);   // 100, 50, 45
  EXPECT_EQ(choose(40), 2U);  // 100, 50, 95
  EXPECT_EQ(choose(40), 1U);  // 100, 100, 95
  EXPECT_EQ(loads.load(0), 100);
  EXPECT_EQ(loads.load(1), 100);
  EXPECT_EQ(loads.load(2), 95);
}

TEST(ReplicaLoadsTest, TakesAShareOffWhenItEndsWhereverItWasMoved) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 2);
  {
    ReplicaLoads::Share first = loads.choose(asking(7, 3));
    ReplicaLoads::Share kept;
    kept = std::move(first);
    const ReplicaLoads::Share other = loads.choose(asking(7, 3));
    EXPECT_NE(kept.replica(), other.replica());
    EXPECT_EQ(loads.load(0), 10);
    EXPECT_EQ(loads.load(1), 10);
    kept = {};
    EXPECT_EQ(loads.load(0) + loads.load(1), 10);
  }
  EXPECT_EQ(loads.load(0), 0);
  EXPECT_EQ(loads.load(1), 0);
}

TEST(ReplicaLoadsTest, SharesOutThoseThatComeAtOnceOneByOne) {
  MetricsRegistry metrics;
  ReplicaLoads loads(metrics, 4);
  std::vector<ReplicaLoads::Share> shares;
  std::vector<int> counts(4);
  for (int i = 0; i < 40; ++i) {
    shares.push_back(loads.choose(asking(8, 8)));
    ++counts[shares.back().replica()];
  }
  EXPECT_EQ(counts, std::vector<int>(4, 10));
}

TEST(ReplicaLoadsTest, KnowsNothingOfAnotherEngineWhoseMetricsAreTheSame) {
  MetricsRegistry metrics;
  ReplicaLoads one(metrics, 2);
  ReplicaLoads other(metrics, 2);
  const ReplicaLoads::Share elsewhere = other.choose(asking(100, 1));
  ASSERT_EQ(elsewhere.replica(), 0U);
  EXPECT_EQ(one.load(0), 0);
  EXPECT_EQ(one.choose(asking(1, 1)).replica(), 0U);
}

TEST(ReplicaLoadsTest, ExpectsOfEachOutputNoMoreThanItsLimitAndWhatIsUsual) {
  EXPECT_EQ(expected_tokens(asking(100, 1)), 101);
  EXPECT_EQ(expected_tokens(asking(100, 10, 4)), 140);
  EXPECT_EQ(expected_tokens(asking(100, 100'000)), expected_tokens(asking(100, 1'000)));
  GroupSpec encoded = asking(1, 10);
  encoded.encoder_input.resize(50);
  EXPECT_EQ(expected_tokens(encoded), 61);
}

}  // namespace
}  // namespace weft
