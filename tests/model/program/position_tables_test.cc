#include "weft/model/program/position_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::Pointwise;

TEST(AlibiSlopesTest, HalveForAPowerOfTwo) {
  EXPECT_THAT(alibi_slopes(4, 1), ElementsAre(0.25F, 0.0625F, 0.015625F, 0.00390625F));
  EXPECT_THAT(alibi_slopes(1, 1), ElementsAre(0.00390625F));
}

// As transformers' build_alibi_tensor does it.
TEST(AlibiSlopesTest, TakeTheOddOnesOfTwiceAsManyForOtherCounts) {
  EXPECT_THAT(alibi_slopes(6, 1),
              ElementsAre(0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F));
  EXPECT_THAT(alibi_slopes(12, 1),
              Pointwise(FloatEq(), {0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F, 0.015625F, 0.0078125F,
                                    0.00390625F, 0.7071067690849304F, 0.3535533845424652F,
                                    0.1767766773700714F, 0.0883883386850357F}));
}

TEST(AlibiSlopesTest, AreScaled) {
  EXPECT_THAT(alibi_slopes(2, 0.5F), ElementsAre(0.03125F, 0.001953125F));
}

// As M2M100SinusoidalPositionalEmbedding.get_embedding(4, 8) of transformers.
TEST(SinusoidalPositionsTest, HaveSinesFirstAndThenCosines) {
  EXPECT_THAT(sinusoidal_positions(3, 8, true), Pointwise(FloatNear(1e-6F), {0.0F,
                                                                             0.0F,
                                                                             0.0F,
                                                                             0.0F,
                                                                             1.0F,
                                                                             1.0F,
                                                                             1.0F,
                                                                             1.0F,  //
                                                                             0.8414709568023682F,
                                                                             0.046399228274822235F,
                                                                             0.0021544331684708595F,
                                                                             9.99999901978299e-05F,
                                                                             0.5403023362159729F,
                                                                             0.9989229440689087F,
                                                                             0.9999976754188538F,
                                                                             1.0F,  //
                                                                             0.9092974066734314F,
                                                                             0.09269850701093674F,
                                                                             0.004308856092393398F,
                                                                             0.0001999999803956598F,
                                                                             -0.416146844625473F,
                                                                             0.9956942200660706F,
                                                                             0.999990701675415F,
                                                                             1.0F}));
}

// As the row of position 1 in MarianSinusoidalPositionalEmbedding(2, 8) of transformers.
TEST(SinusoidalPositionsTest, FallByThePapersStepsWithoutAnEndpoint) {
  const std::vector<float> table = sinusoidal_positions(2, 8, false);
  EXPECT_THAT(
      std::vector<float>(table.begin() + 8, table.end()),
      Pointwise(FloatNear(1e-6F), {0.841470957F, 0.099833414F, 0.00999983307F, 0.000999999815F,
                                   0.540302277F, 0.995004177F, 0.999949992F, 0.999999523F}));
}

TEST(SinusoidalPositionsTest, ExistForTheNarrowestRows) {
  EXPECT_THAT(sinusoidal_positions(2, 2, true),
              Pointwise(FloatNear(1e-6F), {0.0F, 1.0F, std::sin(1.0F), std::cos(1.0F)}));
  EXPECT_THAT(sinusoidal_positions(2, 1, true), ElementsAre(0, 0));
}

}  // namespace
}  // namespace weft
