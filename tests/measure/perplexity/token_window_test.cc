#include "weft/measure/perplexity/token_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weft::measure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SlidingWindows, ScoreEveryTokenButTheFirstOnceWhenTheyOverlap) {
  EXPECT_THAT(sliding_windows(10, 6, 3),
              ElementsAre(TokenWindow{0, 6, 1}, TokenWindow{3, 9, 6}, TokenWindow{6, 10, 9}));
  for (std::size_t tokens = 2; tokens < 40; ++tokens) {
    for (std::size_t context = 2; context < 12; ++context) {
      for (std::size_t stride = 1; stride < context; ++stride) {
        std::size_t next = 1;
        for (const TokenWindow& window : sliding_windows(tokens, context, stride)) {
          EXPECT_EQ(window.first_scored, next);
          EXPECT_GT(window.first_scored, window.begin);
          EXPECT_LE(window.end - window.begin, context);
          next = window.end;
        }
        EXPECT_EQ(next, tokens) << tokens << ' ' << context << ' ' << stride;
      }
    }
  }
}

TEST(SlidingWindows, LeaveOutTheFirstTokenOfEachWhenTheyDoNotOverlap) {
  const auto windows = sliding_windows(9, 4, 4);
  EXPECT_THAT(windows, ElementsAre(TokenWindow{0, 4, 1}, TokenWindow{4, 8, 5}));
  EXPECT_EQ(count_scored(windows), 6U);
}

TEST(SlidingWindows, AreOneForATextThatFits) {
  EXPECT_THAT(sliding_windows(5, 8, 4), ElementsAre(TokenWindow{0, 5, 1}));
}

TEST(SlidingWindows, AreNoneWhereNothingCanBeScored) {
  EXPECT_THAT(sliding_windows(0, 8, 4), IsEmpty());
  EXPECT_THAT(sliding_windows(1, 8, 4), IsEmpty());
}

}  // namespace
}  // namespace weft::measure
