#include "weft/model/vectors/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;

using Numbers = std::vector<float>;

const std::vector<Numbers> hidden_states = {{1, -4}, {3, 2}, {8, 0}};

Numbers pooled(PoolingKind kind) {
  Pooled pooled(kind, 2, 3);
  for (std::int32_t i = 0; i < 3; ++i) pooled.add(i, hidden_states[static_cast<std::size_t>(i)]);
  EXPECT_TRUE(pooled.complete());
  return pooled.vector();
}

TEST(Pooled, GivesWhatItsKindSays) {
  EXPECT_THAT(pooled(PoolingKind::kCls), ElementsAre(1, -4));
  EXPECT_THAT(pooled(PoolingKind::kLast), ElementsAre(8, 0));
  EXPECT_THAT(pooled(PoolingKind::kMax), ElementsAre(8, 2));
  EXPECT_THAT(pooled(PoolingKind::kMean), ElementsAre(4, testing::FloatEq(-2.0F / 3)));
  EXPECT_THAT(pooled(PoolingKind::kMeanSqrt), ElementsAre(testing::FloatEq(12 / std::sqrt(3.0F)),
                                                          testing::FloatEq(-2 / std::sqrt(3.0F))));
  EXPECT_THAT(pooled(PoolingKind::kWeightedMean),
              ElementsAre(testing::FloatEq(31.0F / 6), testing::FloatEq(0)));
}

TEST(Pooled, WantsNoMoreTokensThanItNeeds) {
  const Pooled first(PoolingKind::kCls, 2, 9);
  EXPECT_EQ(first.first(), 0);
  EXPECT_EQ(first.end(), 1);
  const Pooled last(PoolingKind::kLast, 2, 9);
  EXPECT_EQ(last.first(), 8);
  EXPECT_EQ(last.end(), 9);
}

TEST(Pooled, BeginsAnewAtItsFirstPosition) {
  for (const PoolingKind kind : {PoolingKind::kMean, PoolingKind::kMax, PoolingKind::kLast}) {
    Pooled again(kind, 2, 3);
    again.add(0, Numbers{100, 100});
    again.add(1, Numbers{100, 100});
    EXPECT_FALSE(again.complete());
    for (std::int32_t i = 0; i < 3; ++i) again.add(i, hidden_states[static_cast<std::size_t>(i)]);
    EXPECT_EQ(again.vector(), pooled(kind));
  }
}

}  // namespace
}  // namespace weft
