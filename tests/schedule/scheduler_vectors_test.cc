// Tests of groups that are read and not continued, as those for vectors are: they end when their
// prompt is computed. An encoder alone reads each of them whole and holds no pages.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Ask vector_of(std::int32_t tokens, RequestClass cls = RequestClass::kChat) {
  return {.prompt = tokens, .max_tokens = 0, .cls = cls, .has_reader = true};
}

SchedulerOptions encoder() {
  SchedulerOptions options = roomy();
  options.limits.keeps_kv = false;
  options.limits.pages = 0;
  options.limits.context = options.limits.step_tokens;
  return options;
}

class SchedulerVectorsTest : public SchedulerFixture {};

TEST_F(SchedulerVectorsTest, AGroupWithoutOutputsEndsWithItsPrompt) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 16;
  start(options);
  const GroupOutcome& one = submit(vector_of(40));
  EXPECT_TRUE(tick());
  EXPECT_TRUE(tick());
  EXPECT_FALSE(one.end);
  EXPECT_TRUE(plan());
  EXPECT_TRUE(newest().samples.empty());
  run();
  EXPECT_EQ(one.end, GroupEnd::kDone);
  EXPECT_EQ(pages_used(), 0);
  EXPECT_FALSE(tick());
}

TEST_F(SchedulerVectorsTest, ItRunsBesideGroupsThatDecode) {
  start(roomy());
  const GroupOutcome& writes = submit({.max_tokens = 20});
  const GroupOutcome& reads = submit(vector_of(30));
  finish_all();
  EXPECT_EQ(writes.outputs[0], alone(writes));
  EXPECT_EQ(reads.end, GroupEnd::kDone);
}

TEST_F(SchedulerVectorsTest, OneThatEndsWhileItsPlanWaitsLeavesThePlan) {
  start(roomy());
  GroupOutcome& goes = submit(vector_of(10));
  const GroupOutcome& stays = submit(vector_of(12));
  ASSERT_TRUE(plan());
  end(goes);
  amend();
  EXPECT_EQ(newest().entries.size(), 1U);
  run();
  EXPECT_EQ(goes.end, GroupEnd::kCancelled);
  EXPECT_EQ(stays.end, GroupEnd::kDone);
}

TEST_F(SchedulerVectorsTest, OneThatEndsWhileItsStepRunsEndsOnce) {
  start(roomy());
  GroupOutcome& goes = submit(vector_of(10));
  ASSERT_TRUE(plan());
  end(goes);
  run();
  EXPECT_EQ(goes.end, GroupEnd::kCancelled);
}

TEST_F(SchedulerVectorsTest, ALostStepFailsIt) {
  start(roomy());
  const GroupOutcome& lost = submit(vector_of(10));
  ASSERT_TRUE(plan());
  lose();
  EXPECT_EQ(lost.end, GroupEnd::kFailed);
}

TEST_F(SchedulerVectorsTest, BatchThatMakesRoomForChatIsComputedLater) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 4096;
  options.limits.context = 4096;
  options.limits.pages = 4096;
  options.target_inter_token = milliseconds(1);
  start(options, [](const Plan& plan) { return microseconds(10 + 10 * tokens_of(plan)); });
  submit({.prompt = 500, .max_tokens = 1});
  finish_all();  // it is known now how long a step takes
  const GroupOutcome& batch = submit(vector_of(300, RequestClass::kBatch));
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().entries.size(), 1U);
  const GroupOutcome& chat = submit({.prompt = 390, .max_tokens = 1});
  amend();
  ASSERT_NE(entry_of(chat), nullptr);
  EXPECT_LT(entry_of(batch) == nullptr ? 0 : entry_of(batch)->count, 300);
  finish_all();
  EXPECT_EQ(batch.end, GroupEnd::kDone);
  EXPECT_EQ(chat.end, GroupEnd::kDone);
}

TEST_F(SchedulerVectorsTest, ItFindsItsBeginningOnlyWhereItsReaderNeedsNotSeeIt) {
  start(roomy());
  submit({.prompt = 40, .max_tokens = 1, .text = 7});
  finish_all();
  Ask all = vector_of(40);
  all.text = 7;
  EXPECT_EQ(submit(all).cached, -1);
  finish_all();
  EXPECT_EQ(outcomes_.back().cached, 0);
  all.has_reader = false;
  submit(all);
  finish_all();
  EXPECT_GT(outcomes_.back().cached, 30);
}

TEST_F(SchedulerVectorsTest, AnEncoderReadsInputsWholeAndHoldsNoPages) {
  start(encoder());
  const GroupOutcome& first = submit(vector_of(40));
  const GroupOutcome& second = submit(vector_of(40));
  const GroupOutcome& third = submit(vector_of(20));
  ASSERT_TRUE(plan());
  EXPECT_NE(entry_of(first), nullptr);
  EXPECT_EQ(entry_of(second), nullptr) << "60 of 64 tokens are taken";
  EXPECT_NE(entry_of(third), nullptr) << "the step has room for it";
  EXPECT_TRUE(newest().tables.empty());
  EXPECT_TRUE(newest().pages.empty());
  run();
  EXPECT_EQ(first.end, GroupEnd::kDone);
  EXPECT_EQ(third.end, GroupEnd::kDone);
  ASSERT_TRUE(tick());
  EXPECT_EQ(second.end, GroupEnd::kDone);
}

TEST_F(SchedulerVectorsTest, AnEncodersFirstInputGoesInWhateverItsTime) {
  SchedulerOptions options = encoder();
  options.limits.step_tokens = options.limits.context = 1024;
  options.target_inter_token = microseconds(100);
  start(options, [](const Plan& plan) { return microseconds(100 + 100 * tokens_of(plan)); });
  for (int i = 0; i < 3; ++i) {
    submit(vector_of(1000));
    submit(vector_of(1024));
  }
  finish_all();
  for (const GroupOutcome& one : outcomes_) EXPECT_EQ(one.end, GroupEnd::kDone) << one.number;
}

TEST_F(SchedulerVectorsTest, AnInputThatNoStepHasRoomForNeverFits) {
  start(encoder());
  GroupSpec spec;
  spec.prompt.resize(65);
  spec.max_tokens = 0;
  spec.sampling = std::make_shared<const SamplingParams>();
  EXPECT_EQ(scheduler_->never_fits(spec),
            "an input of 65 tokens, which the model reads in one step of 64");
  spec.prompt.resize(64);
  EXPECT_EQ(scheduler_->never_fits(spec), "");
}

TEST_F(SchedulerVectorsTest, WhateverComesAndGoesEachEndsOnce) {
  for (const bool keeps_kv : {true, false}) {
    SchedulerOptions options = keeps_kv ? roomy() : encoder();
    if (keeps_kv) options.limits.pages = 40;  // so that some give way
    start(options);
    std::mt19937 random(keeps_kv ? 1 : 2);
    const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
    for (int step = 0; step < 2000; ++step) {
      const auto cls = below(2) == 0 ? RequestClass::kChat : RequestClass::kBatch;
      if (below(3) == 0) {
        Ask ask = vector_of(1 + below(60), cls);
        if (keeps_kv && below(3) == 0) ask.max_tokens = 1 + below(8);
        submit(ask);
      }
      if (below(8) == 0 && !outcomes_.empty()) {
        GroupOutcome& any = outcomes_[random() % outcomes_.size()];
        if (!any.end) end(any);
      }
      if (planned() < 2) plan();
      if (planned() > 0 && below(4) == 0) amend();
      if (planned() > 0 && below(2) == 0) run();
      if (planned() > 0 && below(200) == 0) lose();
    }
    finish_all();
    for (const GroupOutcome& one : outcomes_) ASSERT_TRUE(one.end) << one.number;
    EXPECT_EQ(groups_, 0U);
    outcomes_.clear();
  }
}

}  // namespace
}  // namespace weft::test
