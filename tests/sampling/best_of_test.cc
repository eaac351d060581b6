#include "weft/sampling/best_of.h"

#include <gtest/gtest.h>

#include <limits>

namespace weft {
namespace {

using Places = std::vector<std::size_t>;

TEST(BestOf, TheBestMeanComesFirstAndOfEqualOnesTheEarlier) {
  const std::vector<OutputScore> outputs = {{-10, 5}, {-3, 1}, {-4, 4}, {-20, 10}, {-30, 30}};
  EXPECT_EQ(best_outputs(outputs, 5), (Places{2, 4, 0, 3, 1}));
  EXPECT_EQ(best_outputs(outputs, 2), (Places{2, 4}));
  EXPECT_EQ(best_outputs(outputs, 9).size(), 5U);
}

TEST(BestOf, OutputsWithoutTokensOrNumbersComeLast) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<OutputScore> outputs = {{0, 0}, {nan, 3}, {-100, 1}};
  EXPECT_EQ(best_outputs(outputs, 3), (Places{2, 0, 1}));
}

}  // namespace
}  // namespace weft
