#include "weft/gpu/host/step_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/model/random_llama.h"

namespace weft {
namespace {

class StepCostsTest : public testing::Test {
 protected:
  std::vector<std::int32_t> pieces(const StepSize& size, int members) {
    const auto cut = costs_.pieces(size, members);
    return {cut.begin(), cut.end()};
  }
  /// The greatest of the step's.
  std::int32_t most(const StepSize& size, int members) {
    return std::ranges::max(pieces(size, members));
  }

  RandomLlama llama_{{.layers = 2, .hidden = 512, .ffn = 1024, .heads = 8, .vocabulary = 4000}, 3};
  StepCosts costs_{*llama_.program(), llama_.program()->decode};
};

TEST_F(StepCostsTest, ASmallOpIsOnePieceAndALargeOneSeveralForEachMember) {
  const StepSize one{.tokens = 1, .outputs = 1, .keys = 10};
  const auto cut = pieces(one, 2);
  EXPECT_EQ(cut.size(), llama_.program()->decode.ops.size());
  EXPECT_EQ(std::ranges::min(cut), 1) << "a norm of one row";
  EXPECT_EQ(most({.tokens = 200, .outputs = 1, .keys = 20'000}, 2), 8);
  EXPECT_EQ(most({.tokens = 200, .outputs = 1, .keys = 20'000}, 16), 64);
}

TEST_F(StepCostsTest, OneMemberGetsWholeOps) {
  EXPECT_EQ(most({.tokens = 200, .outputs = 200, .keys = 20'000}, 1), 1);
}

TEST_F(StepCostsTest, ForTestsEveryOpIsCut) {
  const auto cut = costs_.most_pieces(3);
  EXPECT_EQ(std::vector(cut.begin(), cut.end()),
            std::vector<std::int32_t>(llama_.program()->decode.ops.size(), 12));
}

TEST_F(StepCostsTest, CostsGrowWithTokensOutputsAndKeys) {
  const StepSize size{.tokens = 32, .outputs = 32, .keys = 1000};
  const double cost = costs_.nanoseconds(size);
  EXPECT_GT(costs_.nanoseconds({.tokens = 64, .outputs = 32, .keys = 1000}), cost);
  EXPECT_GT(costs_.nanoseconds({.tokens = 32, .outputs = 64, .keys = 1000}), cost);
  EXPECT_GT(costs_.nanoseconds({.tokens = 32, .outputs = 32, .keys = 5000}), cost);
  EXPECT_EQ(costs_.nanoseconds(size),
            costs_.nanoseconds({.tokens = 32, .outputs = 32, .keys = 1000, .cross_keys = 900}))
      << "a decoder alone has no cross attention";
}

TEST_F(StepCostsTest, OneRowCostsWhatReadingTheWeightsDoes) {
  const double one = costs_.nanoseconds({.tokens = 1, .outputs = 1});
  const double two = costs_.nanoseconds({.tokens = 2, .outputs = 2});
  EXPECT_LT(two, 1.1 * one);
}

}  // namespace
}  // namespace weft
