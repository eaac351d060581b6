// A step that is carried out in pieces has the bits of a step at once, wherever it was abandoned.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/train/job_case.h"
#include "weft/train/step/float_pool.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

using test::job_of;
using test::numbers_of;
using test::TrainingCase;
using testing::HasSubstr;

/// Carries out pieces of a step, and returns how many there were when it was done.
std::size_t run_step(TuningJob& job, StepReport& report) {
  for (std::size_t pieces = 1;; ++pieces) {
    const auto done = job.run_piece().value();
    EXPECT_EQ(job.is_between_steps(), done.has_value());
    if (!done) continue;
    report = *done;
    return pieces;
  }
}

void expect_same(const StepReport& got, const StepReport& wanted, const std::string& where) {
  EXPECT_EQ(got.step, wanted.step) << where;
  EXPECT_EQ(got.loss, wanted.loss) << where;
  EXPECT_EQ(got.norm, wanted.norm) << where;
  EXPECT_EQ(got.rate, wanted.rate) << where;
  EXPECT_EQ(got.tokens, wanted.tokens) << where;
}

TEST(PiecesTest, PiecesGiveTheBitsOfSteps) {
  const TrainingCase golden("llama");
  TuningJob whole = job_of(golden);
  TuningJob pieces = job_of(golden);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(pieces.is_between_steps());
    StepReport report;
    // Of each micro-batch the embedding and two layers forwards, the head, and two layers back;
    // then the optimizer. The fourth example is a step of its own.
    EXPECT_EQ(run_step(pieces, report), i % 2 == 0 ? 13U : 7U) << "step " << i;
    expect_same(report, whole.step().value(), "step " + std::to_string(i));
  }
  EXPECT_EQ(numbers_of(pieces), numbers_of(whole));
}

class AbandonedTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, AbandonedTest, testing::Values("llama", "gpt2", "gemma2"));

TEST_P(AbandonedTest, AStepThatWasAbandonedAtAnyPiecesGivesTheSameBits) {
  const TrainingCase golden(GetParam());
  TuningJob whole = job_of(golden);
  const StepReport first = whole.step().value();
  const StepReport second = whole.step().value();
  // Each job is abandoned twice in its first step.
  for (std::size_t once = 0; once < 13; ++once) {
    for (std::size_t again = 0; again < 7; ++again) {
      const std::string where = std::to_string(once) + " and " + std::to_string(again);
      TuningJob job = job_of(golden);
      for (const std::size_t pieces : {once, again}) {
        std::optional<StepReport> done;
        for (std::size_t i = 0; i < pieces && !done; ++i) done = job.run_piece().value();
        ASSERT_FALSE(done) << where;
        EXPECT_EQ(job.is_between_steps(), once + pieces == 0) << where;
        job.abandon_micro_batch();
        EXPECT_EQ(job.activation_bytes(), 0U) << where;
        if (once > 5) break;  // the second pieces would end the step
      }
      StepReport report;
      run_step(job, report);
      expect_same(report, first, where);
      expect_same(job.step().value(), second, where);
      ASSERT_EQ(numbers_of(job), numbers_of(whole)) << where;
      if (once > 5) break;
    }
  }
}

TEST(PiecesTest, AMicroBatchThatBeginsAgainTakesAllOfItsPiecesAgain) {
  TuningJob job = job_of(TrainingCase("llama"));
  for (int i = 0; i < 5; ++i) (void)job.run_piece().value();
  EXPECT_GT(job.activation_bytes(), 0U);
  job.abandon_micro_batch();
  StepReport report;
  EXPECT_EQ(run_step(job, report), 13U);
  const std::size_t held = job.activation_bytes();
  EXPECT_GT(held, 0U);
  (void)job.step().value();
  (void)job.step().value();
  EXPECT_EQ(job.activation_bytes(), held);
  job.abandon_micro_batch();
  EXPECT_EQ(job.activation_bytes(), 0U);
}

TEST(PiecesTest, AStateSavedInTheMidstOfAStepIsTheOneBeforeIt) {
  const TrainingCase golden("llama");
  const test::TempFolder folder;
  TuningJob whole = job_of(golden);
  TuningJob job = job_of(golden);
  (void)job.step().value();
  for (int i = 0; i < 4; ++i) (void)job.run_piece().value();
  ASSERT_FALSE(job.is_between_steps());
  ASSERT_TRUE(job.save(folder.path() / "state"));
  (void)job.step().value();
  for (int i = 0; i < 5; ++i) (void)job.run_piece().value();
  ASSERT_TRUE(job.restore(folder.path() / "state"));
  EXPECT_TRUE(job.is_between_steps());
  EXPECT_EQ(job.steps_done(), 1);
  for (int i = 0; i < 3; ++i) (void)whole.step().value();
  for (int i = 0; i < 2; ++i) (void)job.step().value();
  EXPECT_EQ(numbers_of(job), numbers_of(whole));
}

TEST(PiecesTest, AStepThatRunsAwayIsRefusedAndLeavesTheLastPairs) {
  TuningJob job = job_of(TrainingCase("llama"), {.rate = 1e25});
  ASSERT_TRUE(job.step());
  const std::vector<float> last = numbers_of(job);
  EXPECT_TRUE(std::ranges::all_of(last, [](float number) { return std::isfinite(number); }));
  for (int i = 0; i < 2; ++i) {
    const auto report = job.step();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, TrainErrc::kNotFinite);
    EXPECT_THAT(report.error().detail, HasSubstr("step 2: "));
    EXPECT_THAT(to_string(report.error()), HasSubstr("--lr"));
    EXPECT_EQ(job.steps_done(), 1);
    EXPECT_TRUE(job.is_between_steps());
    EXPECT_EQ(numbers_of(job), last);
    EXPECT_EQ(job.pairs().pairs[0].a_gradient,
              std::vector<float>(job.pairs().pairs[0].a_gradient.size()));
  }
}

TEST(FloatPoolTest, MemoryIsTakenAgainAndGivenBack) {
  FloatPool pool;
  Floats first = pool.take(10);
  float* const place = first.data();
  EXPECT_EQ(pool.bytes(), 40U);
  first = {};
  EXPECT_EQ(pool.take(10).data(), place);
  Floats second = pool.take(10);
  const Floats third = pool.take(10);
  EXPECT_NE(second.data(), third.data());
  Floats moved = std::move(second);
  EXPECT_EQ(moved.size(), 10U);
  moved = {};
  EXPECT_EQ(pool.bytes(), 80U);
  pool.trim();
  EXPECT_EQ(pool.bytes(), 40U);
}

}  // namespace
}  // namespace weft
