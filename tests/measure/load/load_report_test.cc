#include "weft/measure/load/load_report.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace weft::measure {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

Outcome answered(double at, double end, std::vector<double> came) {
  Outcome outcome;
  outcome.asked = {at, 4, 2};
  outcome.sent = outcome.began = at;
  outcome.prompt = 4;
  outcome.output = 2;
  outcome.end = end;
  outcome.came = std::move(came);
  return outcome;
}

/// Returns two requests that were answered, with two tokens each, and one that failed.
std::vector<Outcome> some_outcomes() {
  Outcome failed = answered(2, 0.25, {});
  failed.error = "http 500";
  return {answered(0, 1, {0.5, 1}), answered(1, 3, {1, 3}), failed};
}

TEST(LoadReport, ShowsLatencyInMilliseconds) {
  const auto tables = load_tables(summarize(some_outcomes()), {});
  ASSERT_THAT(tables, SizeIs(3));
  EXPECT_THAT(tables[0].rows[0],
              ElementsAre("time to first token", "750", "1000", "1000", "1000", "1000"));
  EXPECT_THAT(tables[0].rows[2],
              ElementsAre("time per output token", "1250", "2000", "2000", "2000", "2000"));
  EXPECT_THAT(tables[2].rows, ElementsAre(ElementsAre("http 500", "1")));
}

TEST(LoadReport, ShowsTheGoodputOfAnObjectiveAlone) {
  const auto without = load_tables(summarize(some_outcomes()), {});
  EXPECT_THAT(without[1].rows, SizeIs(3));
  const Slo slo{.whole = 2};
  const auto with = load_tables(summarize(some_outcomes(), slo), slo);
  ASSERT_THAT(with[1].rows, SizeIs(4));
  EXPECT_THAT(with[1].rows[3],
              ElementsAre("requests within the objective (goodput)", "33.3 %", "0.250"));
}

TEST(LoadReport, ShowsNoFiguresOfWhatWasNotMeasured) {
  const auto tables = load_tables(summarize({}), {});
  ASSERT_THAT(tables, SizeIs(2));
  EXPECT_THAT(tables[0].rows[0], ElementsAre("time to first token", "-", "-", "-", "-", "-"));
  for (const Figure& figure : load_figures({})) EXPECT_FALSE(figure.title.empty());
}

TEST(LoadReport, DrawsDistributionsUpToOne) {
  const auto figures = load_figures(some_outcomes());
  ASSERT_THAT(figures, SizeIs(4));
  ASSERT_THAT(figures[0].series, SizeIs(3));
  EXPECT_THAT(figures[0].series[2].points, ElementsAre(std::pair(1.0, 0.5), std::pair(3.0, 1.0)));
}

TEST(LoadReport, DrawsEveryTokenAndEveryRequest) {
  const auto figures = load_figures(some_outcomes());
  const auto area = [](const Series& series) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < series.points.size(); ++i) {
      sum += series.points[i].second * (series.points[i + 1].first - series.points[i].first);
    }
    const double width = series.points[1].first - series.points[0].first;
    return sum + series.points.back().second * width;
  };
  EXPECT_NEAR(area(figures[1].series[0]), 3, 1e-9);
  EXPECT_NEAR(area(figures[2].series[0]), 4, 1e-9);
  const auto& under_way = figures[3].series[0].points;
  EXPECT_EQ(under_way.back(), std::pair(4.0, 0.0));
}

TEST(LoadReport, GivesEachRequestToPrograms) {
  const auto data = load_data(some_outcomes(), {.whole = 2}, {{"http 500", "oops"}});
  EXPECT_EQ(data.at("asked"), 3);
  EXPECT_EQ(data.at("done"), 2);
  EXPECT_EQ(data.at("tokens_per_second"), 1.0);
  EXPECT_EQ(data.at("errors").at("http 500").at("first"), "oops");
  const auto& requests = data.at("requests").as_array();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].at("first"), 0.5);
  EXPECT_EQ(requests[2].at("error"), "http 500");
  EXPECT_TRUE(requests[2].at("first").is_null());
}

TEST(LoadReport, IsUtf8WhateverAServerSays) {
  auto outcomes = some_outcomes();
  outcomes[2].error = "error \xC3";
  Report report;
  report.data = load_data(outcomes, {}, {{"error \xC3", "oops \xFF"}});
  const auto data = to_json(report).at("data");
  EXPECT_EQ(data.at("errors").at("error \uFFFD").at("first"), "oops \uFFFD");
  EXPECT_EQ(data.at("requests").at(2).at("error"), "error \uFFFD");
}

}  // namespace
}  // namespace weft::measure
