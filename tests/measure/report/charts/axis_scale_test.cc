#include "weft/measure/report/charts/axis_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace weft::measure {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const AxisScale& scale) {
  std::vector<std::string> all;
  for (const Tick& tick : scale.ticks()) all.push_back(tick.label);
  return all;
}

TEST(AxisScaleTest, TicksStandAtOneTwoAndFiveTimesPowersOfTen) {
  EXPECT_THAT(labels(AxisScale::around({0, 10}, {.ticks = 5})),
              ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(labels(AxisScale::around({0, 0.9}, {.ticks = 5})),
              ElementsAre("0", "0.2", "0.4", "0.6", "0.8"));
  EXPECT_THAT(labels(AxisScale::around({100, 320}, {.ticks = 5})),
              ElementsAre("100", "150", "200", "250", "300"));
  EXPECT_THAT(labels(AxisScale::around({-1, 1}, {.ticks = 4})),
              ElementsAre("\u22121.0", "\u22120.5", "0", "0.5", "1.0"));
}

TEST(AxisScaleTest, LargeAndSmallValuesHaveShortLabels) {
  EXPECT_THAT(labels(AxisScale::around({0, 5e4}, {.ticks = 5})),
              ElementsAre("0", "10k", "20k", "30k", "40k", "50k"));
  EXPECT_THAT(labels(AxisScale::around({0, 2e6}, {.ticks = 4})),
              ElementsAre("0", "0.5M", "1.0M", "1.5M", "2.0M"));
  EXPECT_THAT(labels(AxisScale::around({0, 4e-6}, {.ticks = 2})), ElementsAre("0", "2e-6", "4e-6"));
  EXPECT_THAT(labels(AxisScale::around({0, 4e20}, {.ticks = 2})), ElementsAre("0", "2e20", "4e20"));
}

TEST(AxisScaleTest, ALogarithmicAxisHasItsTicksByFactors) {
  EXPECT_THAT(labels(AxisScale::around({1, 100}, {.logarithmic = true, .ticks = 6})),
              ElementsAre("1", "2", "5", "10", "20", "50", "100"));
  EXPECT_THAT(labels(AxisScale::around({1e-4, 1e4}, {.logarithmic = true, .ticks = 6})),
              ElementsAre("1e-4", "0.001", "0.01", "0.1", "1", "10", "100", "1000", "10k"));
  const AxisScale scale = AxisScale::around({1, 100}, {.logarithmic = true});
  EXPECT_NEAR(scale.place(10), 0.5, 1e-12);
}

TEST(AxisScaleTest, ALogarithmicAxisOfLessThanADecadeStillHasTicks) {
  for (const bool round : {false, true}) {
    const AxisScale scale =
        AxisScale::around({3, 4}, {.logarithmic = true, .round = round, .ticks = 4});
    EXPECT_GE(scale.ticks().size(), 3U);
    EXPECT_NEAR(scale.place(std::sqrt(scale.low() * scale.high())), 0.5, 1e-9);
  }
}

TEST(AxisScaleTest, ARoundAxisReachesTheNextTickAroundItsValues) {
  const AxisScale linear = AxisScale::around({3, 47}, {.round = true, .ticks = 5});
  EXPECT_EQ(linear.low(), 0);
  EXPECT_EQ(linear.high(), 50);
  const AxisScale log = AxisScale::around({3, 470}, {.logarithmic = true, .round = true});
  EXPECT_NEAR(log.low(), 2, 1e-9);
  EXPECT_NEAR(log.high(), 500, 1e-9);
}

TEST(AxisScaleTest, ZeroIsShownWhereItDoesNotPressTheValuesFlat) {
  EXPECT_EQ(AxisScale::around({2, 10}, {.from_zero = true}).low(), 0);
  EXPECT_EQ(AxisScale::around({-10, -2}, {.from_zero = true}).high(), 0);
  EXPECT_EQ(AxisScale::around({90, 100}, {.from_zero = true}).low(), 90);
  EXPECT_EQ(AxisScale::around({2, 10}, {}).low(), 2);
}

TEST(AxisScaleTest, EqualNoAndExtremeValuesGiveAnAxisThatCanBeDrawn) {
  const std::vector<std::vector<double>> cases = {{},
                                                  {0},
                                                  {7},
                                                  {-7},
                                                  {5, 5, 5},
                                                  {1e200},
                                                  {-1e200, 1e200},
                                                  {1e-200},
                                                  {1e9, 1e9 + 1e-6},
                                                  {0, 1e-300},
                                                  {0, std::numeric_limits<double>::denorm_min()}};
  for (const auto& values : cases) {
    for (const bool logarithmic : {false, true}) {
      if (logarithmic && !values.empty() && values.front() <= 0) continue;
      for (const bool round : {false, true}) {
        const AxisScale scale = AxisScale::around(
            values, {.logarithmic = logarithmic, .from_zero = true, .round = round});
        SCOPED_TRACE(testing::PrintToString(values) + (logarithmic ? " log" : ""));
        EXPECT_LT(scale.low(), scale.high());
        EXPECT_FALSE(scale.ticks().empty());
        EXPECT_LE(scale.ticks().size(), 30U);
        for (const double value : values) {
          EXPECT_GE(scale.place(value), -1e-9);
          EXPECT_LE(scale.place(value), 1 + 1e-9);
        }
        for (const Tick& tick : scale.ticks()) EXPECT_TRUE(std::isfinite(tick.value));
      }
    }
  }
}

TEST(AxisScaleTest, ItSaysWhatItCannotShow) {
  EXPECT_TRUE(can_show(-3, false));
  EXPECT_FALSE(can_show(-3, true));
  EXPECT_FALSE(can_show(0, true));
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300}) {
    EXPECT_FALSE(can_show(wrong, false));
    EXPECT_FALSE(can_show(wrong, true));
  }
}

TEST(AxisScaleTest, GivenTicksKeepTheirDecimals) {
  AxisScale scale = AxisScale::around({0.5, 32}, {.logarithmic = true});
  scale.set_ticks({0.5, 1, 2.25, 32});
  EXPECT_THAT(labels(scale), ElementsAre("0.5", "1", "2.25", "32"));
}

}  // namespace
}  // namespace weft::measure
