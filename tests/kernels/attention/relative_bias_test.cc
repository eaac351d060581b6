#include "weft/kernels/attention/relative_bias.h"

#include <gtest/gtest.h>

#include <vector>

#include "weft/tests/kernels/op_fixture.h"

namespace weft {
namespace {

/// The distances at which transformers' T5Attention._relative_position_bucket, run with PyTorch
/// 2 in float32, goes to the next bucket.
struct Known {
  bool bidirectional;
  std::int32_t buckets;
  std::int32_t max_distance;
  std::vector<std::int32_t> edges;
};

const std::vector<Known>& known() {
  static const std::vector<Known> all{
      {true, 32, 128, {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}},
      {false, 32, 128, {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                        19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113}},
      {true, 32, 800, {1, 2, 3, 4, 5, 6, 7, 8, 15, 26, 45, 80, 143, 253, 450}},
      {false, 12, 64, {1, 2, 3, 4, 5, 6, 9, 14, 20, 30, 44}},
      {true, 64, 256, {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,  13,  14,  15, 16,
                       20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128, 153, 182, 216}}};
  return all;
}

TEST(RelativeBucketsTest, ChangesWhereTransformersDoes) {
  for (const auto& [bidirectional, buckets, max_distance, edges] : known()) {
    const RelativeBuckets relative(buckets, max_distance, bidirectional);
    std::int32_t want = 0;
    for (std::int32_t distance = 0; distance < 1000; ++distance) {
      const auto passed = static_cast<std::size_t>(want);
      if (passed < edges.size() && distance == edges[passed]) ++want;
      ASSERT_EQ(relative.bucket_of(-distance), want) << buckets << " buckets at " << distance;
      // Keys behind the query: the other half of the buckets, or as if it were the query itself.
      const std::int32_t after = bidirectional && distance > 0 ? want + buckets / 2 : 0;
      ASSERT_EQ(relative.bucket_of(distance), after) << buckets << " buckets at " << distance;
    }
    EXPECT_EQ(static_cast<std::size_t>(want), edges.size());
    EXPECT_EQ(relative.bucket_of(-2'000'000'000), want);
  }
}

TEST(RelativeBucketsTest, NoticesNumbersThatMakeNoBuckets) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  WEFT_EXPECT_BUG(RelativeBuckets(1, 128, false), "the number of buckets");
  WEFT_EXPECT_BUG(RelativeBuckets(2, 128, true), "the number of buckets");
  WEFT_EXPECT_BUG(RelativeBuckets(kMaxRelativeBuckets + 2, 4096, false), "the number of buckets");
  WEFT_EXPECT_BUG(RelativeBuckets(32, 8, true), "max_distance");
}

}  // namespace
}  // namespace weft
