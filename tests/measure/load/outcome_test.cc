#include "weft/measure/load/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/system/system_error.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

/// Began at `at`, its tokens came at `came`, and it ended with the last of them.
Outcome outcome(double at, std::vector<double> came) {
  Outcome one;
  one.began = at;
  one.prompt = 5;
  one.output = static_cast<std::int32_t>(came.size());
  one.end = came.back();
  one.came = std::move(came);
  return one;
}

Outcome failed(std::string error) {
  Outcome one;
  one.error = std::move(error);
  one.end = 1;
  one.came = {1};
  return one;
}

TEST(OutcomeTest, ALoadThatWasNotServedWholeIsThrownWithWhyItFailed) {
  EXPECT_EQ(require_served({outcome(0, {1}), outcome(1, {1})}, "part").size(), 2U);
  try {
    static_cast<void>(require_served({outcome(0, {1}), failed("overloaded")}, "part"));
    FAIL() << "nothing was thrown";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), MeasureErrc::kBadLoad);
    EXPECT_THAT(error.what(), testing::HasSubstr("part: a request failed: overloaded"));
  }
}

TEST(OutcomeTest, ARequestsFiguresAreThoseOfTheField) {
  const Outcome one = outcome(3, {1, 1.5, 1.75, 2.5});
  EXPECT_DOUBLE_EQ(first_token_of(one), 1);
  EXPECT_DOUBLE_EQ(per_token_of(one), 0.5);
  EXPECT_DOUBLE_EQ(normalized_of(one), 2.5 / 4);
  const Summary summary = summarize({one});
  EXPECT_DOUBLE_EQ(summary.between.mean, 0.5);
  EXPECT_EQ(summary.between.count, 3U);
  EXPECT_DOUBLE_EQ(summary.whole.p50, 2.5);
  EXPECT_DOUBLE_EQ(summary.seconds, 5.5);
  EXPECT_DOUBLE_EQ(summary.tokens_per_second(), 4 / 5.5);
}

TEST(OutcomeTest, OneTokenHasNoTimeBetweenTokens) {
  const Summary summary = summarize({outcome(0, {1})});
  EXPECT_EQ(summary.per_token.count, 0U);
  EXPECT_EQ(summary.between.count, 0U);
  EXPECT_EQ(summary.first_token.count, 1U);
}

TEST(OutcomeTest, FailuresAreCountedByKindAndInNoFigure) {
  const Summary summary =
      summarize({outcome(0, {1, 2}), failed("429"), failed("429"), failed("connection_lost")});
  EXPECT_EQ(summary.asked, 4U);
  EXPECT_EQ(summary.done, 1U);
  EXPECT_THAT(summary.errors,
              testing::ElementsAre(testing::Pair("429", 2U), testing::Pair("connection_lost", 1U)));
  EXPECT_EQ(summary.first_token.count, 1U);
  EXPECT_EQ(summary.output_tokens, 2);
  EXPECT_DOUBLE_EQ(summary.good, 0.25);
}

TEST(OutcomeTest, GoodIsWhatKeepsEachBoundThatIsSet) {
  const std::vector<Outcome> all = {outcome(0, {1, 2}), outcome(0, {2, 2.5}), outcome(0, {1, 4})};
  EXPECT_DOUBLE_EQ(summarize(all, {}).good, 1);
  EXPECT_DOUBLE_EQ(summarize(all, {.first_token = 1}).good, 2.0 / 3);
  EXPECT_DOUBLE_EQ(summarize(all, {.per_token = 1}).good, 2.0 / 3);
  EXPECT_DOUBLE_EQ(summarize(all, {.first_token = 1, .per_token = 1}).good, 1.0 / 3);
  EXPECT_DOUBLE_EQ(summarize(all, {.whole = 2.5}).good, 2.0 / 3);
  EXPECT_DOUBLE_EQ(summarize(all, {.whole = 2.5}).goodput(), 2 / 4.0);
}

TEST(OutcomeTest, NothingMeasuredIsNothing) {
  const Summary summary = summarize({});
  EXPECT_EQ(summary.first_token.count, 0U);
  EXPECT_EQ(summary.tokens_per_second(), 0);
  EXPECT_EQ(summary.goodput(), 0);
}

TEST(OutcomeTest, AQuantileIsTheNearestValue) {
  const Spread spread = Spread::of({5, 1, 4, 2, 3});
  EXPECT_EQ(spread.p50, 3);
  EXPECT_EQ(spread.p90, 5);
  EXPECT_EQ(spread.max, 5);
  EXPECT_EQ(spread.mean, 3);
  EXPECT_EQ(quantile({7}, 0.99), 7);
}

}  // namespace
}  // namespace weft::measure
