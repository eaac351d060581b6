// Tests of a plan's content: its sequences, their tokens and their rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class SchedulerPlanTest : public SchedulerFixture {
 protected:
  /// Starts with steps that take 100 us and 100 us for each token, and a target of 5 ms.
  void start_with_target(std::int32_t decode_every = 1) {
    SchedulerOptions options = roomy();
    options.limits.context = 20'000;
    options.limits.pages = 10'000;
    options.limits.step_tokens = 4096;
    options.target_inter_token = milliseconds(5);
    options.decode_every = decode_every;
    start(options, [](const Plan& plan) { return microseconds(100 + 100 * tokens_of(plan)); });
  }
};

TEST_F(SchedulerPlanTest, ThereIsNothingToPlanWithoutGroups) {
  start(roomy());
  EXPECT_FALSE(plan());
}

TEST_F(SchedulerPlanTest, ARowTellsWhoHoldsItAndWhetherItDecodes) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 16;
  start(options);
  EXPECT_EQ(scheduler_->row_changes(), 0U);
  EXPECT_EQ(scheduler_->row_use(0).group, nullptr);
  GroupOutcome& one = submit({.prompt = 40, .max_tokens = 2});
  ASSERT_TRUE(tick());
  EXPECT_EQ(scheduler_->row_use(0).group, one.group);
  EXPECT_FALSE(scheduler_->row_use(0).decodes) << "16 of 40 are computed";
  const std::uint64_t begun = scheduler_->row_changes();
  ASSERT_TRUE(tick());
  EXPECT_EQ(scheduler_->row_changes(), begun) << "nothing has changed";
  ASSERT_TRUE(tick());
  EXPECT_TRUE(scheduler_->row_use(0).decodes);
  EXPECT_GT(scheduler_->row_changes(), begun);
  finish_all();
  EXPECT_EQ(scheduler_->row_use(0).group, nullptr);
}

TEST_F(SchedulerPlanTest, ARowThatMovesKeepsItsUse) {
  start(roomy());
  GroupOutcome& first = submit({.max_tokens = 8});
  GroupOutcome& second = submit({.max_tokens = 8});
  GroupOutcome& third = submit({.max_tokens = 8});
  ASSERT_TRUE(tick());
  EXPECT_EQ(scheduler_->row_use(1).group, second.group);
  const Group* const last = third.group;
  end(second);
  EXPECT_EQ(scheduler_->row_use(1).group, nullptr);
  ASSERT_TRUE(tick());
  const bool first_moved = scheduler_->row_use(1).group == first.group;
  EXPECT_EQ(scheduler_->row_use(1).group, first_moved ? first.group : last);
  EXPECT_TRUE(scheduler_->row_use(1).decodes);
  finish_all();
}

TEST_F(SchedulerPlanTest, AnArrivalBeforeAPlanIsInIt) {
  start(roomy());
  GroupOutcome& first = submit({});
  ASSERT_TRUE(plan());
  GroupOutcome& second = submit({.prompt = 7});  // while the first step runs
  ASSERT_TRUE(plan());
  ASSERT_NE(entry_of(first), nullptr);
  ASSERT_NE(entry_of(second), nullptr);
  EXPECT_EQ(entry_of(second)->count, 7);
  finish_all();
}

TEST_F(SchedulerPlanTest, AnArrivalAfterAPlanIsPutIntoIt) {
  start(roomy());
  GroupOutcome& first = submit({});
  ASSERT_TRUE(plan());
  ASSERT_TRUE(plan());
  EXPECT_FALSE(scheduler_->changed());
  GroupOutcome& second = submit({.prompt = 7});
  EXPECT_TRUE(scheduler_->changed());
  amend();
  EXPECT_FALSE(scheduler_->changed());
  ASSERT_NE(entry_of(second), nullptr);
  EXPECT_EQ(entry_of(second)->count, 7);
  ASSERT_NE(entry_of(first), nullptr);
  EXPECT_EQ(entry_of(first)->first_id, kLastToken);
  finish_all();
  EXPECT_EQ(second.outputs[0], alone(second));
}

TEST_F(SchedulerPlanTest, OneStepHoldsChunksAndDecodesOfAnyLengthWithoutPadding) {
  start(roomy());
  GroupOutcome& decodes = submit({.prompt = 5});
  GroupOutcome& also = submit({.prompt = 9});
  ASSERT_TRUE(tick());
  GroupOutcome& small = submit({.prompt = 3});
  GroupOutcome& large = submit({.prompt = 30});
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().entries.size(), 4U);
  EXPECT_EQ(tokens_of(newest()), 1 + 1 + 3 + 30);
  EXPECT_EQ(entry_of(decodes)->start, 5);
  EXPECT_EQ(entry_of(also)->start, 9);
  EXPECT_EQ(entry_of(small)->count, 3);
  EXPECT_EQ(entry_of(large)->count, 30);
  EXPECT_EQ(newest().samples.size(), 4U);
  finish_all();
}

TEST_F(SchedulerPlanTest, APromptLongerThanAStepIsCutAndSampledOnce) {
  start(roomy());
  GroupOutcome& one = submit({.prompt = 150, .max_tokens = 2});
  std::vector<std::int32_t> chunks;
  std::size_t samples = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(plan());
    chunks.push_back(tokens_of(newest()));
    samples += newest().samples.size();
  }
  EXPECT_EQ(chunks, (std::vector<std::int32_t>{64, 64, 22}));
  EXPECT_EQ(samples, 1U);
  finish_all();
  EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_F(SchedulerPlanTest, APlanRefersToTheTokenThatTheStepBeforeGives) {
  start(roomy());
  GroupOutcome& one = submit({.prompt = 5});
  ASSERT_TRUE(plan());
  ASSERT_TRUE(plan());  // the first has not run
  const PlanEntry* entry = entry_of(one);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->first_id, kLastToken);
  EXPECT_EQ(entry->start, 5);
  EXPECT_FALSE(plan()) << "what the second step gives is not under way yet";
  finish_all();
  EXPECT_EQ(one.outputs[0], alone(one));
}

TEST_F(SchedulerPlanTest, NoRowIsWastedWhereTheLengthIsKnown) {
  start(roomy());
  for (std::int32_t length : {1, 2, 5}) submit({.prompt = 6, .max_tokens = length});
  finish_all();
  // The last token of each is not fed any more.
  EXPECT_EQ(device_->tokens(), 3U * 6 + 0 + 1 + 4);
}

TEST_F(SchedulerPlanTest, ASequenceThatStopsCostsAtMostOneWastedRow) {
  SchedulerOptions options = roomy();
  options.cache = false;
  start(options);
  std::size_t outputs = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Ask ask{.prompt = 6, .max_tokens = 20, .seed = seed, .text = 1};
    GroupOutcome& whole = submit(ask);
    end(whole);
    ask.end_tokens = {alone(whole)[4]};
    submit(ask);
    finish_all();
    EXPECT_EQ(outcomes_.back().outputs[0].size(), 5U);
    outputs += outcomes_.back().outputs[0].size();
  }
  const std::uint64_t needed = std::uint64_t{5} * 6 + outputs - 5;
  EXPECT_GE(device_->tokens(), needed);
  EXPECT_LE(device_->tokens(), needed + 5);
}

TEST_F(SchedulerPlanTest, PrefillIsCutToTheTimeBudgetWhileStreamsRun) {
  start_with_target();
  submit({.prompt = 4, .max_tokens = 1000});
  ASSERT_TRUE(tick());
  submit({.prompt = 15'000, .max_tokens = 2});
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  // 5 ms are 49 tokens.
  EXPECT_NEAR(tokens_of(newest()), 49, 5);
}

TEST_F(SchedulerPlanTest, PrefillMayTakeLongerWhereNoStreamWaits) {
  start_with_target();
  submit({.prompt = 15'000, .max_tokens = 2});
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_NEAR(tokens_of(newest()), 199, 20);
}

TEST_F(SchedulerPlanTest, PrefillGetsTheLeastChunkWhateverTheBudget) {
  SchedulerOptions options = roomy();
  options.limits.context = 2048;
  options.target_inter_token = microseconds(1);
  start(options, [](const Plan& plan) { return milliseconds(1) * tokens_of(plan); });
  submit({.prompt = 4, .max_tokens = 1000});
  ASSERT_TRUE(tick());
  submit({.prompt = 1000});
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest_shape().prefill_tokens, ChunkPlanner::kLeastChunk);
  EXPECT_EQ(newest_shape().decode_tokens, 1);
}

TEST_F(SchedulerPlanTest, TheBudgetOfATickHoldsForWhatIsPutIntoIt) {
  start_with_target();
  submit({.prompt = 4, .max_tokens = 1000});
  ASSERT_TRUE(tick());
  submit({.prompt = 3000, .max_tokens = 2});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  const std::int32_t before = tokens_of(newest());
  submit({.prompt = 3000, .max_tokens = 2});
  amend();
  EXPECT_LE(tokens_of(newest()), before + ChunkPlanner::kLeastChunk);
}

TEST_F(SchedulerPlanTest, RunningStreamsAdvanceAtLeastEveryKTicks) {
  start_with_target(3);
  GroupOutcome& stream = submit({.prompt = 4, .max_tokens = 1000});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  submit({.prompt = 8000, .max_tokens = 2});
  std::int32_t without = 0;
  std::int32_t longest = 0;
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(plan());
    without = entry_of(stream) == nullptr ? without + 1 : 0;
    longest = std::max(longest, without);
    run();
  }
  EXPECT_EQ(longest, 2);
}

TEST_F(SchedulerPlanTest, RunningStreamsAdvanceEveryTickWhereNoPromptWaits) {
  start_with_target(3);
  GroupOutcome& stream = submit({.prompt = 4, .max_tokens = 100});
  ASSERT_TRUE(tick());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(plan());
    EXPECT_NE(entry_of(stream), nullptr);
    run();
  }
}

TEST_F(SchedulerPlanTest, ChatComputesItsPromptBeforeBatch) {
  start_with_target();
  GroupOutcome& batch = submit({.prompt = 8000, .cls = RequestClass::kBatch});
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(tick());
  GroupOutcome& chat = submit({.prompt = 8000});
  ASSERT_TRUE(plan());
  ASSERT_NE(entry_of(chat), nullptr);
  EXPECT_EQ(entry_of(batch), nullptr);
}

TEST_F(SchedulerPlanTest, StreamsGoOnInATickInWhichThePromptTheyWaitForGivesWay) {
  SchedulerOptions options = roomy();
  options.limits.rows = 4;
  options.limits.pages = 16;
  options.limits.context = 64;
  options.limits.step_tokens = 30;
  options.decode_every = 3;
  start(options);
  GroupOutcome& stream = submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(tick());
  GroupOutcome& batch =
      submit({.prompt = 36, .max_tokens = 4, .sequences = 2, .cls = RequestClass::kBatch});
  ASSERT_TRUE(tick());  // a part of its prompt
  ASSERT_TRUE(runs(batch));
  end_sequence(batch, 0);
  // Its pages go to this one, which takes the whole tick.
  submit({.prompt = 30, .max_tokens = 20});
  ASSERT_TRUE(tick());
  ASSERT_TRUE(runs(batch));
  ASSERT_TRUE(plan());
  EXPECT_FALSE(runs(batch));
  EXPECT_NE(entry_of(stream), nullptr);
  finish_all();
}

TEST_F(SchedulerPlanTest, EncodersInputsThatArriveLateStayWithinTheStep) {
  SchedulerOptions options = roomy();
  options.limits.cross_pages = 128;
  start(options);
  GroupOutcome& first = submit({.prompt = 1, .encoder_input = 40});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().encodes.size(), 1U);
  GroupOutcome& second = submit({.prompt = 1, .encoder_input = 40});
  amend();
  EXPECT_EQ(entry_of(second), nullptr);
  GroupOutcome& third = submit({.prompt = 1, .encoder_input = 20});
  amend();
  EXPECT_NE(entry_of(third), nullptr);
  finish_all();
  for (const GroupOutcome* one : {&first, &second, &third}) EXPECT_EQ(one->outputs[0], alone(*one));
}

TEST_F(SchedulerPlanTest, RunningRowsAreMadeContiguousWithTheFewestMoves) {
  start(roomy());
  std::vector<GroupOutcome*> all;
  for (int i = 0; i < 8; ++i) all.push_back(&submit({.prompt = 4, .max_tokens = 50}));
  ASSERT_TRUE(tick());
  for (const int gone : {1, 2, 6}) end(*all[static_cast<std::size_t>(gone)]);
  // x . . x x x . x: a window of five keeps four of them at best.
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().rows, 5);
  EXPECT_EQ(newest().moves.size(), 1U);
  EXPECT_EQ(newest().entries.size(), 5U);
  finish_all();
}

TEST_F(SchedulerPlanTest, AnArrivalTakesAHoleAndNothingMoves) {
  start(roomy());
  std::vector<GroupOutcome*> all;
  for (int i = 0; i < 4; ++i) all.push_back(&submit({.prompt = 4, .max_tokens = 50}));
  ASSERT_TRUE(tick());
  end(*all[1]);
  GroupOutcome& late = submit({.prompt = 4, .max_tokens = 50});
  ASSERT_TRUE(plan());
  EXPECT_EQ(late.group->sequences[0].row, 1);
  EXPECT_TRUE(newest().moves.empty());
  finish_all();
}

TEST_F(SchedulerPlanTest, CancellingFreesRowsAndPagesAtOnce) {
  start(roomy());
  GroupOutcome& stays = submit({.prompt = 8});
  GroupOutcome& goes = submit({.prompt = 100, .max_tokens = 50});
  GroupOutcome& waits = submit({.prompt = 8, .sequences = 7});
  ASSERT_TRUE(plan());  // cut in the middle of the second prompt
  EXPECT_EQ(pages_used(), 2 + 25);
  end(goes);
  end(waits);
  EXPECT_EQ(pages_used(), 2);
  EXPECT_EQ(scheduler_->stats().running, 1U);
  EXPECT_EQ(scheduler_->stats().waiting, 0U);
  finish_all();
  EXPECT_EQ(stays.outputs[0], alone(stays));
  EXPECT_EQ(goes.end, GroupEnd::kCancelled);
}

TEST_F(SchedulerPlanTest, WhatEndedLeavesAPlanThatWaits) {
  start(roomy());
  GroupOutcome& stays = submit({.prompt = 8});
  GroupOutcome& goes = submit({.prompt = 8});
  ASSERT_TRUE(plan());
  run();
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().entries.size(), 2U);
  end(goes);
  amend();
  ASSERT_EQ(newest().entries.size(), 1U);
  EXPECT_EQ(newest().samples.size(), 1U);
  EXPECT_EQ(newest_shape().decode_tokens, 1);
  finish_all();
  EXPECT_EQ(stays.outputs[0], alone(stays));
  // Nothing was computed in vain.
  EXPECT_EQ(device_->tokens(), 8U + 8 + 7);
}

TEST_F(SchedulerPlanTest, ChatTakesTheTokensOfBatchPromptsInAPlanThatWaits) {
  start(roomy());
  GroupOutcome& stream = submit({.prompt = 4, .cls = RequestClass::kBatch});
  ASSERT_TRUE(tick());
  GroupOutcome& whole = submit({.prompt = 40, .cls = RequestClass::kBatch});
  GroupOutcome& begun = submit({.prompt = 40, .cls = RequestClass::kBatch});
  ASSERT_TRUE(plan());
  EXPECT_EQ(entry_of(whole)->count, 40);
  EXPECT_EQ(entry_of(begun)->count, 64 - 1 - 40);
  EXPECT_EQ(newest().samples.size(), 2U);
  GroupOutcome& chat = submit({.prompt = 50});
  amend();
  EXPECT_EQ(entry_of(chat)->count, 50);
  EXPECT_EQ(entry_of(whole)->count, 64 - 1 - 50);
  EXPECT_EQ(entry_of(begun), nullptr);
  EXPECT_EQ(entry_of(stream)->count, 1);
  EXPECT_EQ(newest().samples.size(), 2U);
  finish_all();
  for (const GroupOutcome* one : {&stream, &whole, &begun, &chat}) {
    EXPECT_EQ(one->outputs[0], alone(*one));
  }
  // And the stream's first token, which is known when it is fed.
  EXPECT_EQ(scheduler_->stats().prompt_tokens, 4U + 40 + 40 + 50 + 1);
}

TEST_F(SchedulerPlanTest, RowsAndPagesThatBecomeFreeAreFilledInAPlanThatWaits) {
  SchedulerOptions options = roomy();
  options.limits.rows = 3;
  options.limits.context = 32;
  options.limits.pages = 12;
  start(options);
  std::vector<GroupOutcome*> first;
  for (int i = 0; i < 3; ++i) first.push_back(&submit({.prompt = 12, .max_tokens = 4}));
  ASSERT_TRUE(plan());
  run();
  ASSERT_TRUE(plan());
  GroupOutcome& waits = submit({.prompt = 13, .max_tokens = 8});
  amend();
  EXPECT_EQ(entry_of(waits), nullptr);  // no row
  end(*first[1]);
  amend();
  ASSERT_NE(entry_of(waits), nullptr);
  EXPECT_EQ(entry_of(waits)->count, 13);
  finish_all();
  EXPECT_EQ(waits.outputs[0], alone(waits));
  EXPECT_EQ(first[2]->outputs[0], alone(*first[2]));
}

TEST_F(SchedulerPlanTest, ALostStepFailsWhatRunsAndLeavesWhatWaits) {
  SchedulerOptions options = roomy();
  options.limits.rows = 2;
  start(options);
  GroupOutcome& first = submit({});
  GroupOutcome& second = submit({});
  GroupOutcome& waits = submit({});
  ASSERT_TRUE(plan());
  ASSERT_TRUE(plan());
  lose();
  lose();  // it would have gone on from the first
  EXPECT_EQ(first.end, GroupEnd::kFailed);
  EXPECT_EQ(second.end, GroupEnd::kFailed);
  EXPECT_FALSE(waits.end);
  finish_all();
  EXPECT_EQ(waits.end, GroupEnd::kDone);
  EXPECT_EQ(waits.outputs[0], alone(waits));
}

}  // namespace
}  // namespace weft::test
