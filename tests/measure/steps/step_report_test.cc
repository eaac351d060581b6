#include "weft/measure/steps/step_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <string>
#include <vector>

namespace weft::measure {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

Quartiles around(double value) { return {value * 0.9, value, value * 1.1}; }

/// A cell that takes 20 ms, of which reading would take 16, and computing 2 for each sequence.
StepCell cell(std::int32_t batch, std::int32_t tokens) {
  StepCell one;
  one.batch = batch;
  one.tokens = tokens;
  one.work = {1.6e9, 1e9 * batch};
  one.seconds = around(0.020);
  one.reading = around(0.016);
  one.computing = around(0.002 * batch);
  one.of_limit = around(0.8);
  one.of_peak = around(0.1 * batch);
  one.times_first = around(batch);
  return one;
}

StepFigures figures() {
  StepFigures all;
  all.decode = {cell(1, 128), cell(10, 128), cell(1, 512)};
  all.prefill = {cell(1, 128)};
  all.step_tokens = 512;
  all.reader = "reading loops";
  all.computer = "computing loops";
  return all;
}

TEST(StepReport, ShowsACellARowWithItsLimit) {
  const Report report = step_report(figures(), "a model", {{"model", "a model"}});
  EXPECT_THAT(report.title, HasSubstr("a model"));
  ASSERT_THAT(report.tables, SizeIs(2));
  for (const Table& table : report.tables) {
    EXPECT_THAT(table.rows, Each(SizeIs(table.columns.size())));
  }
  const std::vector<std::string>& row = report.tables[0].rows[1];
  EXPECT_EQ(row[0], "10");
  EXPECT_EQ(row[1], "128");
  EXPECT_THAT(row[2], HasSubstr("20"));
  EXPECT_THAT(row[4], HasSubstr("500"));
  EXPECT_EQ(row[8], "computing");
  EXPECT_EQ(report.tables[0].rows[0][8], "reading");
}

TEST(StepReport, SaysWhatTheLimitsCameTo) {
  const Report report = step_report(figures(), "a model", {});
  EXPECT_THAT(report.facts, Contains(Pair("limit of reading", "100 GB/s, reading loops")));
  EXPECT_THAT(report.facts, Contains(Pair("limit of computing", "500 GFLOP/s, computing loops")));
}

TEST(StepReport, DrawsACurveForEachContextBesideItsLimit) {
  const Report report = step_report(figures(), "a model", {});
  ASSERT_THAT(report.figures, SizeIs(1));  // a prompt of one length is no curve
  ASSERT_THAT(report.figures[0].series, SizeIs(4));
  EXPECT_THAT(report.figures[0].series[0].points, SizeIs(2));
  EXPECT_EQ(report.figures[0].series[0].points[1], std::pair(10.0, 500.0));
  EXPECT_EQ(report.figures[0].series[1].points[1], std::pair(10.0, 500.0));
}

TEST(StepReport, GivesProgramsEveryNumber) {
  const boost::json::value data = step_report(figures(), "a model", {}).data;
  EXPECT_EQ(data.at("decode").as_array().size(), 3U);
  const boost::json::value& one = data.at("decode").at(1);
  EXPECT_EQ(one.at("batch").as_int64(), 10);
  EXPECT_EQ(one.at("seconds").at("median").as_double(), 0.020);
  EXPECT_EQ(one.at("computing_seconds").at("median").as_double(), 0.020);
  EXPECT_EQ(data.at("prefill").at(0).at("tokens").as_int64(), 128);
}

TEST(StepReport, SaysWhereComputingIsNotMeasured) {
  StepFigures all = figures();
  all.computer = "not measured";
  for (auto* cells : {&all.decode, &all.prefill}) {
    for (StepCell& one : *cells) one.computing = one.of_peak = std::nullopt;
  }
  const Report report = step_report(all, "a model", {});
  EXPECT_THAT(report.facts, Contains(Pair("limit of computing", "not measured")));
  EXPECT_THAT(report.tables[1].rows[0], Contains("not measured"));
  EXPECT_TRUE(report.data.at("prefill").at(0).at("computing_seconds").is_null());
  EXPECT_EQ(report.tables[0].rows[1][8], "reading");
}

}  // namespace
}  // namespace weft::measure
