#include "weft/measure/report/charts/svg_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "weft/measure/report/charts/svg_text.h"
#include "weft/tests/measure/report/well_formed.h"

namespace weft::measure {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostileLabel = "<script>\"&'\x01\xFF</svg>";

Figure figure(std::vector<Series> series) {
  return {.title = "Title",
          .caption = "Caption",
          .x = {"Rate [1/s]"},
          .y = {"Latency [ms]"},
          .series = std::move(series)};
}

Series line(std::string name, std::vector<std::pair<double, double>> points) {
  return {.name = std::move(name), .points = std::move(points)};
}

std::string chart(const Figure& figure) { return svg_chart(figure, kWideChart, "f1"); }

TEST(SvgChartTest, EachStyleOnEachKindOfAxisIsWellFormed) {
  using Style = Series::Style;
  for (const Style style : {Style::kLine, Style::kStep, Style::kPoints, Style::kBars}) {
    for (const bool x : {false, true}) {
      for (const bool y : {false, true}) {
        Figure one = figure({line("a", {{1, 3}, {2, 5}, {8, 40}}), line("b", {{1, 2}, {4, 9}})});
        for (Series& series : one.series) series.style = style;
        one.series.back().of_paper = true;
        one.x.logarithmic = x;
        one.y.logarithmic = y;
        EXPECT_THAT(chart(one), IsWellFormed());
        EXPECT_THAT(svg_chart(one, kNarrowChart, "f1"), IsWellFormed());
        EXPECT_THAT(to_svg(one), IsWellFormed());
      }
    }
  }
}

TEST(SvgChartTest, EveryTextIsEscaped) {
  Figure one = figure({line(kHostileLabel, {{1, 3}, {2, 5}})});
  one.series.push_back({.name = kHostileLabel, .style = Series::Style::kBars, .points = {{1, 1}}});
  one.title = one.caption = one.x.title = one.y.title = kHostileLabel;
  for (const std::string& svg : {chart(one), to_svg(one)}) {
    EXPECT_THAT(svg, IsWellFormed());
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
    EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&quot;&amp;&#39;\uFFFD\uFFFD"));
  }
}

TEST(SvgChartTest, ThePointsValuesCanBeRead) {
  const std::string svg = chart(figure({line("ours", {{4, 12.34}})}));
  EXPECT_THAT(svg, HasSubstr("<title>ours\nRate [1/s]: 4\nLatency [ms]: 12.3</title>"));
}

TEST(SvgChartTest, APapersSeriesIsMarkedAndLooksLikeOursOfThatName) {
  Figure one = figure({line("other", {{1, 3}, {2, 5}}), line("fusion", {{1, 3}, {2, 5}}),
                       line("fusion", {{1, 2}, {2, 4}})});
  one.series.back().of_paper = true;
  const std::string svg = chart(one);
  EXPECT_THAT(svg, HasSubstr(">fusion (paper)</text>"));
  EXPECT_THAT(svg, HasSubstr("<g class=\"c1\"><title>fusion</title>"));
  EXPECT_THAT(svg, HasSubstr("<g class=\"c1 paper\"><title>fusion (paper)</title>"));
  EXPECT_THAT(chart_style(), HasSubstr(".paper .line{stroke-dasharray"));
}

TEST(SvgChartTest, SeriesAreToldApartWithoutColours) {
  const std::string lines =
      chart(figure({line("a", {{1, 1}}), line("b", {{1, 2}}), line("c", {{1, 3}})}));
  // Each of three forms has a mark in the legend and one in the chart.
  EXPECT_EQ(count_of("m-4 0a4 4", lines), 2U);
  EXPECT_EQ(count_of("m-3.6-3.6h7.2", lines), 2U);
  EXPECT_EQ(count_of("m0-4.8l4.6 8", lines), 2U);
  Figure bars = figure({line("a", {{1, 1}}), line("b", {{1, 2}})});
  for (Series& series : bars.series) series.style = Series::Style::kBars;
  EXPECT_EQ(count_of("<pattern ", chart(bars)), 2U);
}

TEST(SvgChartTest, WhatAnAxisCannotShowIsLeftOut) {
  Figure one =
      figure({line("a", {{1, 3}, {2, std::nan("")}, {HUGE_VAL, 4}, {0, 5}, {4, -1}, {5, 6}})});
  EXPECT_EQ(count_of("class=\"hit\"", chart(one)), 4U);
  EXPECT_THAT(chart(one), Not(HasSubstr("nan")));
  EXPECT_THAT(chart(one), Not(HasSubstr("inf")));
  one.x.logarithmic = one.y.logarithmic = true;
  EXPECT_EQ(count_of("class=\"hit\"", chart(one)), 2U);
}

TEST(SvgChartTest, NothingAndOneAndEqualValuesAreDrawn) {
  const std::string empty = chart(figure({}));
  EXPECT_THAT(empty, IsWellFormed());
  EXPECT_THAT(empty, HasSubstr("no values"));
  EXPECT_THAT(chart(figure({line("a", {})})), HasSubstr("no values"));
  for (const auto& points : std::vector<std::vector<std::pair<double, double>>>{
           {{0, 0}}, {{3, 3}}, {{1, 7}, {2, 7}}, {{2, 1}, {2, 9}}, {{-5, -5}}}) {
    for (const auto style : {Series::Style::kLine, Series::Style::kBars}) {
      Figure one = figure({line("a", points), line("none", {})});
      for (Series& series : one.series) series.style = style;
      const std::string svg = chart(one);
      EXPECT_THAT(svg, IsWellFormed());
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
    }
  }
}

TEST(SvgChartTest, AHugeSeriesMakesNoHugeChart) {
  for (const auto style :
       {Series::Style::kLine, Series::Style::kStep, Series::Style::kPoints, Series::Style::kBars}) {
    Series series = line("a", {});
    series.style = style;
    for (int i = 0; i < 200'000; ++i) series.points.emplace_back(i, i * 7919 % 1000);
    const std::string svg = chart(figure({series}));
    EXPECT_THAT(svg, IsWellFormed());
    EXPECT_LT(svg.size(), 500'000U);
  }
}

TEST(SvgChartTest, AnAxisByFactorsNamesWhatWasMeasured) {
  Figure one = figure({line("a", {{1, 3}, {4, 5}, {16, 7}})});
  one.x.logarithmic = true;
  const std::string svg = chart(one);
  for (const char* label : {">1</text>", ">4</text>", ">16</text>"}) {
    EXPECT_THAT(svg, HasSubstr("middle\"" + std::string(label)));
  }
}

TEST(SvgChartTest, BarsOfOnePlaceStandBesideEachOtherAndOnZero) {
  Figure one = figure({line("a", {{1, 10}, {2, 20}}), line("b", {{1, 30}, {2, -5}})});
  for (Series& series : one.series) series.style = Series::Style::kBars;
  const std::string svg = chart(one);
  // Two bars of the legend and four of the figure.
  EXPECT_EQ(count_of("class=\"bar\"", svg), 6U);
  EXPECT_THAT(svg, HasSubstr("end\">0</text>"));
}

TEST(SvgChartTest, BarsOfOneNameShareAHatching) {
  Figure one = figure({line("a", {{1, 10}}), line("a", {{2, 30}}), line("b", {{1, 4}})});
  for (Series& series : one.series) series.style = Series::Style::kBars;
  EXPECT_THAT(chart(one), IsWellFormed());
  EXPECT_EQ(count_of("<pattern ", chart(one)), 2U);
}

TEST(SvgChartTest, AFileHasItsTitleAndBothSchemes) {
  Figure one = figure({line("a", {{1, 3}, {2, 5}})});
  one.title =
      "A title of so many words that one line of a chart is not wide enough for all of them, "
      "not even with the small letters that it has";
  const std::string svg = to_svg(one);
  EXPECT_THAT(
      svg, testing::StartsWith("<svg class=\"weft-chart\" xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(count_of("class=\"title\"", svg), 2U);
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_EQ(count_of("http", svg), 1U);
}

TEST(SvgTextTest, TextIsFittedByWholeCharacters) {
  EXPECT_EQ(fitted("short", 100, 12), "short");
  const std::string cut = fitted("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 40, 12);
  EXPECT_THAT(cut, testing::EndsWith("\u2026"));
  EXPECT_LE(text_width(cut, 12), 40);
  EXPECT_THAT(cut, testing::StartsWith("\u00e4\u00f6"));
  EXPECT_THAT(broken("one two three", 60, 12), testing::ElementsAre("one two", "three"));
}

}  // namespace
}  // namespace weft::measure
