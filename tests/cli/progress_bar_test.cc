#include "weft/cli/progress_bar.h"

#include <gmock/gmock.h>

namespace weft::cli {
namespace {

constexpr std::int64_t kTotal = 2'000'000'000;

TEST(ProgressLine, ShowsThePartTheBytesAndTheRate) {
  EXPECT_EQ(progress_line("loading", 1'000'000'000, kTotal, 0.5, 61),
            "loading  [=======>       ]  50 %  1.00 of 2.00 GB  2.00 GB/s");
}

TEST(ProgressLine, NeverFillsTheTerminalsLastColumn) {
  for (int width = 1; width < 200; ++width) {
    EXPECT_LT(progress_line("loading", kTotal, kTotal, 1, width).size(),
              static_cast<std::size_t>(width));
  }
}

TEST(ProgressLine, IsFullWhenThereIsNothingToDo) {
  EXPECT_THAT(progress_line("loading", 0, 0, 0, 80), testing::HasSubstr("100 %"));
}

TEST(CountLine, ShowsHowManyTheRateAndTheTimeThatIsLeft) {
  EXPECT_EQ(count_line("batch", 45, 100, 10, 66),
            "batch  [=========>           ]  45 %  45 of 100  4.5/s  13 s left");
  EXPECT_THAT(count_line("batch", 1, 100, 2, 80), testing::EndsWith("0.5/s  3 min 18 s left"));
  EXPECT_THAT(count_line("batch", 1, 101, 61, 80), testing::EndsWith("1 h 41 min left"));
}

TEST(CountLine, SaysNoRateBeforeThereIsOne) {
  EXPECT_THAT(count_line("batch", 0, 100, 3, 80), testing::EndsWith("   0 %  0 of 100"));
}

}  // namespace
}  // namespace weft::cli
