#include "weft/measure/load/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/measure/measure_error.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::measure {
namespace {

using test::FailsWith;

std::string azure(const std::string& lines) {
  return "TIMESTAMP,ContextTokens,GeneratedTokens\n" + lines;
}
std::string azure() {
  return azure(
      "2023-11-16 23:59:59.9799600,4808,10\n"
      "2023-11-17 00:00:00.0319600,3180,8\n"
      "2023-11-17 00:00:02,110,27\n");
}
std::string mooncake() {
  return R"({"timestamp": 1000, "input_length": 40160, "output_length": 6, "hash_ids": [0, 1, 2]})"
         "\n"
         R"({"timestamp": 1040.5, "input_length": 23769, "output_length": 3, "hash_ids": []})"
         "\n"
         R"({"output_length": 1, "input_length": 13, "timestamp": 4000})"
         "\n";
}

std::vector<double> times(const std::vector<Arrival>& arrivals) {
  std::vector<double> all;
  for (const Arrival& one : arrivals) all.push_back(one.at);
  return all;
}

std::vector<std::pair<std::int32_t, std::int32_t>> lengths(const std::vector<Arrival>& arrivals) {
  std::vector<std::pair<std::int32_t, std::int32_t>> all;
  for (const Arrival& one : arrivals) all.emplace_back(one.prompt, one.output);
  return all;
}

std::vector<Arrival> parsed(const std::string& text, const TraceOptions& options = {}) {
  return parse_trace(text, "t", options).value();
}

TEST(TraceTest, AzuresLinesBecomeRequestsFromZero) {
  const auto arrivals = parsed(azure());
  EXPECT_THAT(times(arrivals), testing::ElementsAre(0, testing::DoubleNear(0.052, 1e-12),
                                                    testing::DoubleNear(2.02004, 1e-12)));
  EXPECT_THAT(lengths(arrivals),
              testing::ElementsAre(testing::Pair(4808, 10), testing::Pair(3180, 8),
                                   testing::Pair(110, 27)));
}

TEST(TraceTest, MooncakesLinesBecomeRequestsFromZero) {
  const auto arrivals = parsed(mooncake());
  EXPECT_THAT(times(arrivals), testing::ElementsAre(0, testing::DoubleNear(0.0405, 1e-12), 3));
  EXPECT_THAT(
      lengths(arrivals),
      testing::ElementsAre(testing::Pair(40160, 6), testing::Pair(23769, 3), testing::Pair(13, 1)));
}

TEST(TraceTest, LineEndsOfOtherSystemsAndEmptyLinesChangeNothing) {
  const std::string text = azure();
  std::string windows;
  for (const char letter : text)
    windows += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  EXPECT_EQ(times(parsed(windows + "\r\n")), times(parsed(azure())));
  EXPECT_EQ(times(parsed(mooncake() + "\n")), times(parsed(mooncake())));
  EXPECT_EQ(times(parsed(mooncake().substr(0, mooncake().size() - 1))), times(parsed(mooncake())));
}

TEST(TraceTest, TimesOfLaterYearsOfAzureNameTheirZone) {
  const auto arrivals =
      parsed(azure("2024-02-29 23:59:59.999999999+00:00,1,1\n"
                   "2024-03-01 00:00:00+00:00,1,1\n"));
  EXPECT_NEAR(arrivals.back().at, 1e-9, 1e-15);
}

TEST(TraceTest, TimesAreStretchedAndLengthsAreCut) {
  const auto arrivals = parsed(
      mooncake(),
      {.time_scale = 0.5, .most_prompt = 1000, .most_output = 2, .cls = RequestClass::kBatch});
  EXPECT_THAT(times(arrivals), testing::ElementsAre(0, testing::DoubleNear(0.02025, 1e-12), 1.5));
  EXPECT_THAT(
      lengths(arrivals),
      testing::ElementsAre(testing::Pair(1000, 2), testing::Pair(1000, 2), testing::Pair(13, 1)));
  EXPECT_EQ(arrivals.front().cls, RequestClass::kBatch);
}

TEST(TraceTest, ABeginningOfATraceIsByNumberOrByItsOwnTime) {
  EXPECT_EQ(parsed(mooncake(), {.requests = 2}).size(), 2U);
  EXPECT_EQ(parsed(mooncake(), {.requests = 9}).size(), 3U);
  EXPECT_EQ(parsed(mooncake(), {.time_scale = 100, .seconds = 0.05}).size(), 2U);
  EXPECT_EQ(parsed(mooncake(), {.seconds = 3}).size(), 2U);
  EXPECT_EQ(parsed(mooncake(), {.seconds = 3.1}).size(), 3U);
  EXPECT_EQ(parsed(mooncake(), {.seconds = 1e-9}).size(), 1U);
}

TEST(TraceTest, RequestsAreInTheOrderOfTheirTimesAndHaveAToken) {
  const auto arrivals = parsed(R"({"timestamp": 500, "input_length": 0, "output_length": 0})"
                               "\n"
                               R"({"timestamp": 100, "input_length": 7, "output_length": 8})");
  EXPECT_THAT(times(arrivals), testing::ElementsAre(0, 0.4));
  EXPECT_THAT(lengths(arrivals), testing::ElementsAre(testing::Pair(7, 8), testing::Pair(1, 1)));
}

TEST(TraceTest, WhatIsNoTraceIsRefused) {
  for (const char* text : {"", "\n", "timestamp,a,b\n1,2,3\n", "[1]", " ", "\xEF\xBB\xBF"}) {
    EXPECT_THAT(parse_trace(text, "some.csv"), FailsWith(MeasureErrc::kBadTrace, "some.csv:1: "));
  }
  EXPECT_THAT(parse_trace(azure(""), "t"),
              FailsWith(MeasureErrc::kBadTrace, "t:2: it has no requests"));
}

TEST(TraceTest, ABadLineOfAzuresIsNamed) {
  for (const char* line : {"2023-11-16 18:17:03",
                           "2023-11-16 18:17:03,1",
                           "2023-11-16 18:17:03,1,2,3",
                           "2023-11-16 18:17:03,1,-2",
                           "2023-11-16 18:17:03,1,2.0",
                           "2023-11-16 18:17:03,1, 2",
                           "2023-11-16 18:17:03,16777217,2",
                           "2023-11-16 18:17:03,,2",
                           "2023-02-29 18:17:03,1,2",
                           "2023-13-01 18:17:03,1,2",
                           "2023-11-16 24:17:03,1,2",
                           "2023-11-16 18:60:03,1,2",
                           "2023-11-16 18:17:60,1,2",
                           "2023-11-16 18:17:03.,1,2",
                           "2023-11-16 18:17:03.1234567890,1,2",
                           "2023-11-16 18:17:03.-1,1,2",
                           "2023-11-16T18:17:03,1,2",
                           "2023-11-16 18:17,1,2",
                           "2023-11-16 18:17:03+01:00,1,2",
                           "9999-11-16 18:17:03,1,2",
                           "-123-11-16 18:17:03,1,2",
                           "2023--1-16 18:17:03,1,2",
                           "16.11.2023,1,2",
                           "x"}) {
    EXPECT_THAT(parse_trace(azure() + line, "t.csv"),
                FailsWith(MeasureErrc::kBadTrace, "t.csv:5: "))
        << line;
  }
}

TEST(TraceTest, ABadLineOfMooncakesIsNamed) {
  for (
      const char* line :
      {"{", "{}", "1", "[]", "{\"timestamp\": 1}",
       R"({"timestamp": -1, "input_length": 1, "output_length": 1})",
       R"({"timestamp": 1e300, "input_length": 1, "output_length": 1})",
       R"({"timestamp": "1", "input_length": 1, "output_length": 1})",
       R"({"timestamp": 1, "input_length": 1.5, "output_length": 1})",
       R"({"timestamp": 1, "input_length": 16777217, "output_length": 1})",
       R"({"timestamp": 1, "input_length": 1, "output_length": -1})",
       R"({"timestamp": 1, "input_length": 1, "output_length": 99999999999999999999})",
       R"({"timestamp": 1, "input_length": 1, "output_length": 1}{)",
       R"({"a": [[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]], "timestamp": 1, "input_length": 1, "output_length": 1})"}) {
    EXPECT_THAT(parse_trace(mooncake() + line, "t.jsonl"),
                FailsWith(MeasureErrc::kBadTrace, "t.jsonl:4: "))
        << line;
  }
  const std::string long_line =
      R"({"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": ")" +
      std::string(1U << 20U, 'x') + "\"}";
  EXPECT_THAT(parse_trace(long_line, "t"),
              FailsWith(MeasureErrc::kBadTrace, "t:1: a line is longer than 1 MiB"));
}

TEST(TraceTest, OptionsThatMakeNoLoadAreRefused) {
  for (const TraceOptions& options : {TraceOptions{.time_scale = 0},
                                      {.time_scale = -1},
                                      {.time_scale = std::nan("")},
                                      {.time_scale = HUGE_VAL},
                                      {.seconds = -1},
                                      {.seconds = std::nan("")},
                                      {.most_prompt = -1},
                                      {.most_output = -1}}) {
    EXPECT_THAT(parse_trace(azure(), "t", options), FailsWith(MeasureErrc::kBadLoad, "trace"));
  }
}

TEST(TraceTest, AFileIsNamedByItsPath) {
  const test::TempFolder folder;
  const auto path = folder.write("trace.csv", azure() + "x");
  EXPECT_THAT(read_trace(path), FailsWith(MeasureErrc::kBadTrace, path.string() + ":5: "));
  EXPECT_EQ(read_trace(folder.write("good", azure()))->size(), 3U);
  EXPECT_THAT(read_trace(folder.path() / "none"), FailsWith(FileErrc::kCannotRead, "none"));
}

/// Compares one of the published traces with its known figures.
void expect_trace(const std::string& name, std::size_t requests, double seconds,
                  std::int32_t longest) {
  const std::filesystem::path path = test::source_path("../shared/data/traces/" + name);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no trace at " << path;
  const auto trace = read_trace(path);
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->size(), requests);
  EXPECT_EQ(trace->front().at, 0);
  EXPECT_NEAR(trace->back().at, seconds, 1e-6);
  EXPECT_TRUE(std::ranges::is_sorted(*trace, {}, &Arrival::at));
  EXPECT_EQ(std::ranges::max_element(*trace, {}, &Arrival::prompt)->prompt, longest);
}

TEST(SharedTraceTest, AzuresCodeTraceIsReadWhole) {
  expect_trace("AzureLLMInferenceTrace_code.csv", 8819, 3435.948056, 7437);
}
TEST(SharedTraceTest, MooncakesSyntheticTraceIsReadWhole) {
  expect_trace("mooncake_synthetic_trace.jsonl", 3993, 1022.025, 191'378);
}

}  // namespace
}  // namespace weft::measure
