// Tests of rows and pages: which are shared, which move, and that all are returned.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

class SchedulerMemoryTest : public SchedulerFixture {
 protected:
  static SchedulerOptions slab(std::int32_t rows) {
    SchedulerOptions options = roomy();
    options.layout = KvLayout::kSlab;
    options.limits.rows = rows;
    options.limits.context = 64;
    options.limits.pages = rows * options.limits.pages_per_row();
    return options;
  }
  void expect_all_alone() const {
    for (const GroupOutcome& one : outcomes_) {
      if (one.end == GroupEnd::kDone && one.ask.sequences == 1 && one.ask.beams == 1) {
        EXPECT_EQ(one.outputs[0], alone(one)) << one.number;
      }
    }
  }
};

TEST_F(SchedulerMemoryTest, SeveralOutputsShareThePromptAndCopyItsLastPageOnly) {
  start(roomy());
  GroupOutcome& one = submit({.prompt = 10, .max_tokens = 3, .sequences = 3});
  ASSERT_TRUE(plan());
  EXPECT_EQ(pages_used(), 3);  // two whole ones, one in part
  EXPECT_EQ(tokens_of(newest()), 10);
  EXPECT_EQ(newest().forks.size(), 2U);
  EXPECT_EQ(newest().samples.size(), 3U);
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().copies.size(), 2U);  // the third has it to itself then
  EXPECT_EQ(pages_used(), 5);
  finish_all();
  for (const auto& output : one.outputs) EXPECT_EQ(output.size(), 3U);
  EXPECT_EQ(pages_used(), 0);
  EXPECT_EQ(device_->tokens(), 10U + 3 * 2);
}

TEST_F(SchedulerMemoryTest, AGroupHasRoomForItsOutputsFromItsFirstRowsOn) {
  SchedulerOptions options = roomy();
  options.limits.rows = 2;
  start(options);
  GroupOutcome& runs_first = submit({.max_tokens = 2, .sequences = 2});
  GroupOutcome& waits = submit({.prompt = 5, .max_tokens = 3, .sequences = 2});
  ASSERT_TRUE(tick());
  for (const Sequence& one : waits.group->sequences) EXPECT_EQ(one.outputs.capacity(), 0U);
  while (!runs_first.end) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  std::vector<std::size_t> room;
  for (const Sequence& one : waits.group->sequences) {
    room.push_back(one.outputs.capacity());
    room.push_back(one.table.pages.capacity());
  }
  EXPECT_GE(room[0], 3U);
  while (waits.outputs[0].size() < 2) {
    ASSERT_TRUE(tick());
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(waits.group->sequences[i].outputs.capacity(), room[2 * i]);
      EXPECT_EQ(waits.group->sequences[i].table.pages.capacity(), room[2 * i + 1]);
    }
  }
}

TEST_F(SchedulerMemoryTest, NothingIsCopiedWhereThePromptEndsWithAPage) {
  start(roomy());
  submit({.prompt = 8, .max_tokens = 3, .sequences = 3});
  ASSERT_TRUE(plan());
  EXPECT_EQ(pages_used(), 2);
  ASSERT_TRUE(plan());
  EXPECT_TRUE(newest().copies.empty());
  EXPECT_EQ(pages_used(), 5);
  finish_all();
}

TEST_F(SchedulerMemoryTest, PagesOfOneTokenAreNeverCopied) {
  SchedulerOptions options = roomy();
  options.limits.page_tokens = 1;
  start(options);
  submit({.prompt = 7, .max_tokens = 4, .sequences = 3});
  while (plan()) {
    EXPECT_TRUE(newest().copies.empty());
    run();
  }
}

TEST_F(SchedulerMemoryTest, SequencesOfAGroupThatGaveWayShareItsPromptAgain) {
  SchedulerOptions options = roomy();
  options.limits.rows = 4;
  start(options);
  GroupOutcome& batch =
      submit({.prompt = 10, .max_tokens = 12, .sequences = 3, .cls = RequestClass::kBatch});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(tick());
  GroupOutcome& chat = submit({.prompt = 4, .max_tokens = 3, .sequences = 2});
  ASSERT_TRUE(tick());
  EXPECT_FALSE(runs(batch));
  EXPECT_EQ(batch.outputs[0].size(), 5U);
  finish_all();
  EXPECT_EQ(chat.end, GroupEnd::kDone);
  for (const auto& output : batch.outputs) EXPECT_EQ(output.size(), 12U);
}

TEST_F(SchedulerMemoryTest,
       ASequenceThatEndsBeforeItComputesThePromptForOthersTakesNothingFromThem) {
  SchedulerOptions options = roomy();
  options.limits.rows = 3;
  start(options);
  GroupOutcome& batch =
      submit({.prompt = 10, .max_tokens = 12, .sequences = 2, .cls = RequestClass::kBatch});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  GroupOutcome& chat = submit({.prompt = 4, .max_tokens = 2, .sequences = 2});
  while (!chat.end) ASSERT_TRUE(tick());
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().forks.size(), 1U);
  end_sequence(batch, 0);  // its text has hit a stop string by now
  amend();
  finish_all();
  EXPECT_EQ(batch.outputs[1].size(), 12U);
}

TEST_F(SchedulerMemoryTest, ASequenceThatEndsWithTheEncodersInputLeavesItForTheNextToEncode) {
  SchedulerOptions options = roomy();
  options.limits.rows = 3;
  options.limits.cross_pages = 48;
  options.limits.step_tokens = 24;
  options.cache = false;  // else it finds its output
  start(options);
  GroupOutcome& batch = submit({.prompt = 10,
                                .encoder_input = 20,
                                .max_tokens = 12,
                                .sequences = 2,
                                .cls = RequestClass::kBatch});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  ASSERT_FALSE(batch.outputs[0].empty());
  // It takes the pages of the encoder's input as well.
  GroupOutcome& chat = submit({.prompt = 4, .encoder_input = 20, .max_tokens = 3, .sequences = 2});
  ASSERT_TRUE(tick());
  ASSERT_FALSE(runs(batch));
  end(chat);
  // Beside this one there is time for a part of the prompt only.
  submit({.prompt = 20, .max_tokens = 1});
  ASSERT_TRUE(plan());
  ASSERT_EQ(newest().encodes.size(), 1U);
  ASSERT_TRUE(newest().forks.empty());
  end_sequence(batch, 0);  // its text has hit a stop string by now
  amend();
  finish_all();
  EXPECT_EQ(batch.outputs[1].size(), 12U);
}

TEST_F(SchedulerMemoryTest, ABeamSearchThatFindsNothingFails) {
  start(roomy());
  GroupOutcome& beams = submit({.prompt = 10, .max_tokens = 12, .beams = 3});
  GroupOutcome& plain = submit({.prompt = 10, .max_tokens = 12});
  ASSERT_TRUE(tick());
  device_->give_no_numbers();
  finish_all();
  EXPECT_EQ(beams.end, GroupEnd::kFailed);
  EXPECT_EQ(plain.end, GroupEnd::kFailed);
}

TEST_F(SchedulerMemoryTest, BeamsShareWhatTheyHaveInCommonAndEndAsAlone) {
  start(roomy());
  const Ask ask{.prompt = 10, .max_tokens = 12, .beams = 3, .text = 5};
  GroupOutcome& one = submit(ask);
  ASSERT_TRUE(tick());
  ASSERT_TRUE(tick());
  EXPECT_LE(pages_used(), 5);
  finish_all();
  ASSERT_EQ(one.outputs[0].size(), 12U);
  // The same again, beside others that come and go.
  submit({.prompt = 20, .max_tokens = 3});
  GroupOutcome& again = submit(ask);
  GroupOutcome& goes = submit({.prompt = 30, .max_tokens = 20});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(tick());
  end(goes);
  finish_all();
  EXPECT_EQ(again.outputs[0], one.outputs[0]);
}

TEST_F(SchedulerMemoryTest, ASlabMovesWithItsRow) {
  start(slab(6));
  std::vector<GroupOutcome*> all;
  for (int i = 0; i < 6; ++i) all.push_back(&submit({.prompt = 9, .max_tokens = 20}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tick());
  for (const int gone : {1, 2, 4}) end(*all[static_cast<std::size_t>(gone)]);
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().moves.size(), 1U);
  EXPECT_EQ(newest().slab_copies.size(), 3U);  // 11 tokens
  finish_all();
  expect_all_alone();
}

TEST_F(SchedulerMemoryTest, AForkInSlabsHoldsThoughItsFirstSequenceEndsAtOnce) {
  start(slab(5));
  GroupOutcome& left = submit({.prompt = 4, .max_tokens = 20});
  Ask ask{.prompt = 9, .max_tokens = 6, .sequences = 2, .text = 77};
  GroupOutcome& whole = submit(ask);
  ask.end_tokens = {alone(whole)[0]};  // the first token of the first sequence
  end(whole);
  GroupOutcome& fork = submit(ask);
  GroupOutcome& right = submit({.prompt = 4, .max_tokens = 20});
  GroupOutcome& also = submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(tick());
  EXPECT_EQ(fork.group->alive, 1);
  finish_all();
  EXPECT_EQ(left.end, GroupEnd::kDone);
  EXPECT_EQ(right.end, GroupEnd::kDone);
  EXPECT_EQ(also.end, GroupEnd::kDone);
  expect_all_alone();
}

TEST_F(SchedulerMemoryTest, AForkThatIsCancelledInSlabsOverwritesNobody) {
  start(slab(6));
  GroupOutcome& first = submit({.prompt = 9, .max_tokens = 20});
  GroupOutcome& fork = submit({.prompt = 9, .max_tokens = 20, .sequences = 2});
  submit({.prompt = 4, .max_tokens = 20});
  submit({.prompt = 4, .max_tokens = 20});
  ASSERT_TRUE(plan());
  end(fork);
  run();
  finish_all();
  EXPECT_EQ(first.end, GroupEnd::kDone);
  expect_all_alone();
}

}  // namespace
}  // namespace weft::test
