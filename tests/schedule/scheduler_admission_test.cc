// Which group begins, in which order, and which gives way.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

using std::chrono::milliseconds;

class SchedulerAdmissionTest : public SchedulerFixture {
 protected:
  static SchedulerOptions of(std::int32_t rows, std::int32_t pages) {
    SchedulerOptions options = roomy();
    options.limits.rows = rows;
    options.limits.pages = pages;
    return options;
  }
  [[nodiscard]] std::vector<std::size_t> order_of_ends() const {
    std::vector<const GroupOutcome*> all;
    for (const GroupOutcome& outcome : outcomes_) all.push_back(&outcome);
    std::ranges::sort(all, {}, &GroupOutcome::ended_as);
    std::vector<std::size_t> numbers;
    for (const GroupOutcome* outcome : all) numbers.push_back(outcome->number);
    return numbers;
  }
};

constexpr auto kBatchClass = RequestClass::kBatch;

TEST_F(SchedulerAdmissionTest, ChatGoesBeforeBatchThenLowPriorityThenArrival) {
  start(of(1, 512));
  submit({.cls = kBatchClass, .priority = -5});
  submit({.priority = 2});
  submit({.priority = 1});
  submit({.priority = 1});
  finish_all();
  EXPECT_EQ(order_of_ends(), (std::vector<std::size_t>{3, 4, 2, 1}));
}

TEST_F(SchedulerAdmissionTest, AClientThatFloodsTakesNoMoreThanItsShare) {
  // The paper's bound (Theorem 4.4): 2 max(w_p * longest prompt, w_q * tokens that run at once).
  constexpr std::int32_t kPrompt = 16;
  constexpr std::int32_t kLong = 32;
  constexpr std::int32_t kShort = 4;
  constexpr std::int32_t kRows = 4;
  start(of(kRows, 512));
  for (int i = 0; i < 200; ++i) submit({.prompt = kPrompt, .max_tokens = kLong, .client = 1});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tick());
  for (int i = 0; i < 60; ++i) submit({.prompt = kPrompt, .max_tokens = kShort, .client = 2});
  const auto served = [&](std::uint64_t client) {
    double tokens = 0;
    for (const GroupOutcome& one : outcomes_) {
      if (one.ask.client != client) continue;
      const bool began = one.end || runs(one);
      tokens += (began ? kPrompt : 0) + 2.0 * static_cast<double>(one.outputs[0].size());
    }
    return tokens;
  };
  const double before = served(1);
  const double bound = 2 * std::max<double>(kPrompt, 2 * kRows * (kPrompt + kLong));
  double widest = 0;
  while (outcomes_.back().group != nullptr && !runs(outcomes_.back())) {  // both have some waiting
    ASSERT_TRUE(tick());
    widest = std::max(widest, std::abs(served(1) - before - served(2)));
  }
  EXPECT_LE(widest, bound);
  EXPECT_GT(served(2), 50 * (kPrompt + 2 * kShort));
}

TEST_F(SchedulerAdmissionTest, ChatTakesTheRowOfTheBatchGroupThatLosesLeast) {
  start(of(3, 512));
  GroupOutcome& longest = submit({.prompt = 40, .max_tokens = 30, .cls = kBatchClass});
  GroupOutcome& shortest = submit({.prompt = 5, .max_tokens = 30, .cls = kBatchClass});
  GroupOutcome& middle = submit({.prompt = 12, .max_tokens = 30, .cls = kBatchClass});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tick());
  const std::size_t kept = shortest.outputs[0].size();
  EXPECT_GT(kept, 1U);
  GroupOutcome& chat = submit({.prompt = 5, .max_tokens = 3});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(chat));
  EXPECT_TRUE(runs(longest));
  EXPECT_TRUE(runs(middle));
  EXPECT_FALSE(runs(shortest));
  EXPECT_EQ(scheduler_->stats().preemptions, 1U);
  finish_all();
  // It went on where it was: the fixture compares each token once.
  EXPECT_GT(shortest.outputs[0].size(), kept);
  EXPECT_EQ(shortest.outputs[0], alone(shortest));
  EXPECT_LT(chat.ended_as, shortest.ended_as);
}

TEST_F(SchedulerAdmissionTest, ChatThatCannotHaveEnoughPreemptsNobody) {
  start(of(3, 512));
  GroupOutcome& chat = submit({.prompt = 5, .max_tokens = 30});
  GroupOutcome& batch = submit({.prompt = 5, .max_tokens = 30, .cls = kBatchClass});
  ASSERT_TRUE(tick());
  GroupOutcome& wide = submit({.prompt = 5, .max_tokens = 3, .sequences = 3});
  ASSERT_TRUE(tick());
  EXPECT_TRUE(runs(chat));
  EXPECT_TRUE(runs(batch));
  EXPECT_FALSE(runs(wide));
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  finish_all();
}

TEST_F(SchedulerAdmissionTest, SharedPagesCountOnceWhenChatLooksForRoom) {
  // Two sequences share 16 pages of a prompt: taking both away frees 18 pages, not 34.
  SchedulerOptions options = of(4, 40);
  start(options);
  GroupOutcome& chat = submit({.prompt = 60, .max_tokens = 30});
  GroupOutcome& batch = submit({.prompt = 64, .max_tokens = 8, .sequences = 2, .cls = kBatchClass});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  ASSERT_TRUE(runs(batch));
  GroupOutcome& large = submit({.prompt = 120, .max_tokens = 4});
  ASSERT_TRUE(tick());
  EXPECT_TRUE(runs(chat));
  EXPECT_FALSE(runs(large));
  EXPECT_TRUE(runs(batch));
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  finish_all();
}

TEST_F(SchedulerAdmissionTest, ReservedPagesCountWhenChatLooksForRoom) {
  SchedulerOptions options = of(4, 40);
  options.admission = AdmissionMode::kReserve;
  start(options);
  submit({.prompt = 8, .max_tokens = 100});  // 27 pages are set aside
  GroupOutcome& batch = submit({.prompt = 8, .max_tokens = 20, .cls = kBatchClass});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(runs(batch));
  GroupOutcome& large = submit({.prompt = 8, .max_tokens = 60});
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(large));
  EXPECT_TRUE(runs(batch));
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  finish_all();
}

TEST_F(SchedulerAdmissionTest, TheWatermarkCountsWhenChatLooksForRoom) {
  SchedulerOptions options = of(4, 40);
  options.watermark = 0.25;
  start(options);
  submit({.prompt = 40, .max_tokens = 30});
  GroupOutcome& batch = submit({.prompt = 40, .max_tokens = 8, .cls = kBatchClass});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  ASSERT_TRUE(runs(batch));
  GroupOutcome& large =
      submit({.prompt = 90, .max_tokens = 4});  // 23 of 29 or so, and 10 stay free
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(large));
  EXPECT_TRUE(runs(batch));
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  finish_all();
}

TEST_F(SchedulerAdmissionTest, BatchNeverTakesPagesFromChat) {
  SchedulerOptions options = of(4, 16);
  start(options);
  GroupOutcome& batch = submit({.prompt = 20, .max_tokens = 30, .cls = kBatchClass});
  ASSERT_TRUE(tick());
  GroupOutcome& chat = submit({.prompt = 20, .max_tokens = 30});
  while (!chat.end) ASSERT_TRUE(tick());
  EXPECT_EQ(chat.begun, 1) << "it gave way";
  EXPECT_GT(scheduler_->stats().preemptions, 0U);
  finish_all();
  EXPECT_EQ(batch.outputs[0], alone(batch));
}

TEST_F(SchedulerAdmissionTest, ReserveModeNeverPreemptsForMemory) {
  SchedulerOptions options = of(8, 40);
  options.admission = AdmissionMode::kReserve;
  start(options);
  std::size_t most = 0;
  for (int i = 0; i < 30; ++i) submit({.prompt = 4 + i, .max_tokens = 40});
  while (plan()) {
    most = std::max(most, scheduler_->stats().running);
    run();
  }
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  EXPECT_GT(most, 1U);
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_F(SchedulerAdmissionTest, OptimisticModeRunsMoreAtOnceAndPreemptsWhenPagesRunOut) {
  start(of(8, 40));
  std::size_t most = 0;
  for (int i = 0; i < 30; ++i) submit({.prompt = 4 + i, .max_tokens = 40});
  while (plan()) {
    most = std::max(most, scheduler_->stats().running);
    run();
  }
  EXPECT_GT(scheduler_->stats().preemptions, 0U);
  EXPECT_GE(most, 5U);
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_F(SchedulerAdmissionTest, OptimisticAdmissionLeavesTheWatermarkFree) {
  SchedulerOptions options = of(8, 40);
  options.watermark = 0.5;
  start(options);
  for (int i = 0; i < 8; ++i) submit({.prompt = 15, .max_tokens = 1});
  ASSERT_TRUE(plan());
  EXPECT_EQ(scheduler_->stats().running, 5U);  // 4 pages each leave 20
  finish_all();
}

TEST_F(SchedulerAdmissionTest, TheWatermarkKeepsNobodyOutOfAnIdleEngine) {
  SchedulerOptions options = of(8, 40);
  options.watermark = 0.5;
  start(options);
  GroupOutcome& large = submit({.prompt = 120, .max_tokens = 20});
  ASSERT_TRUE(plan());
  EXPECT_TRUE(runs(large));
  finish_all();
}

TEST_F(SchedulerAdmissionTest, WhatCanNeverFitIsRefusedWithTheNumbers) {
  start(of(4, 10));
  GroupSpec spec;
  spec.sampling = std::make_shared<const SamplingParams>();
  spec.prompt.assign(30, 1);
  spec.max_tokens = 11;
  EXPECT_EQ(scheduler_->never_fits(spec), "");  // the last token is not fed
  spec.max_tokens = 12;
  EXPECT_EQ(scheduler_->never_fits(spec),
            "1 sequences of 42 tokens take 11 pages, the engine has 10");
  spec.max_tokens = 1;
  spec.sequences = 5;
  EXPECT_EQ(scheduler_->never_fits(spec), "5 sequences, the engine has 4 rows");
  spec.sequences = 1;
  spec.encoder_input.assign(65, 1);
  EXPECT_EQ(scheduler_->never_fits(spec), "an encoder's input of 65 tokens, a step has 64");
}

TEST_F(SchedulerAdmissionTest, AHugeGroupDoesNotBlockOthersAndIsOvertakenOnlySoOften) {
  start(of(4, 64));
  // Small ones come all the time, so the huge one never finds all pages free by itself.
  const auto small = [&] { submit({.prompt = 60, .max_tokens = 16, .client = 1}); };
  for (int i = 0; i < 3; ++i) small();
  ASSERT_TRUE(tick());
  GroupOutcome& huge = submit({.prompt = 200, .max_tokens = 4, .client = 1});
  std::size_t began_before_it = 0;
  for (int i = 0; i < 2000 && !runs(huge) && !huge.end; ++i) {
    if (scheduler_->stats().waiting < 4) small();
    ASSERT_TRUE(tick());
  }
  ASSERT_TRUE(runs(huge) || huge.end) << "it waits for ever";
  for (const GroupOutcome& one : outcomes_) {
    began_before_it += one.number > huge.number && (one.end || runs(one)) ? 1 : 0;
  }
  EXPECT_GT(began_before_it, 3U);
  EXPECT_LE(began_before_it, std::size_t{Admission::kMaxOvertakes});
  finish_all();
}

TEST_F(SchedulerAdmissionTest, AStaticBatchRunsToItsEndBeforeOthersBegin) {
  SchedulerOptions options = of(4, 512);
  options.policy = BatchPolicy::kStatic;
  start(options);
  GroupOutcome& brief = submit({.max_tokens = 2});
  GroupOutcome& lasting = submit({.max_tokens = 12});
  ASSERT_TRUE(tick());
  GroupOutcome& late = submit({});
  while (!lasting.end) {
    EXPECT_FALSE(runs(late)) << "rows are free, but the batch is not done";
    ASSERT_TRUE(tick());
  }
  EXPECT_TRUE(brief.end);
  ASSERT_TRUE(tick());
  EXPECT_TRUE(runs(late));
  finish_all();
}

TEST_F(SchedulerAdmissionTest, AWindowOpensWithTheFirstArrival) {
  SchedulerOptions options = of(4, 512);
  options.policy = BatchPolicy::kWindow;
  options.window = milliseconds(10);
  start(options);
  EXPECT_FALSE(scheduler_->wake_at());
  const TimePoint opened = now_;
  GroupOutcome& first = submit({});
  now_ += milliseconds(6);
  GroupOutcome& second = submit({});
  EXPECT_FALSE(plan());
  EXPECT_EQ(scheduler_->wake_at(), opened + milliseconds(10));
  now_ = opened + milliseconds(10);
  ASSERT_TRUE(tick());
  EXPECT_TRUE(runs(first));
  EXPECT_TRUE(runs(second));
  EXPECT_FALSE(scheduler_->wake_at());
  GroupOutcome& late = submit({});
  now_ += milliseconds(20);
  while (!first.end) {
    EXPECT_FALSE(runs(late));
    ASSERT_TRUE(tick());
  }
  finish_all();
  EXPECT_TRUE(late.end);
}

TEST_F(SchedulerAdmissionTest, AWindowThatIsFullDoesNotWait) {
  SchedulerOptions options = of(2, 512);
  options.policy = BatchPolicy::kWindow;
  options.window = milliseconds(10);
  start(options);
  submit({});
  EXPECT_FALSE(plan());
  submit({});
  EXPECT_TRUE(plan());
  finish_all();
}

}  // namespace
}  // namespace weft::test
