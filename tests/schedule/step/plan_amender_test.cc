#include "weft/schedule/step/plan_amender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/schedule/step/plan_writer.h"
#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

using ::testing::IsEmpty;

struct AmenderParts : SchedulerParts {
  explicit AmenderParts(const SchedulerOptions& how = small_options())
      : SchedulerParts(how),
        writer(how.limits, rows, memory),
        amender(how.limits, rows, groups, running) {
    tick.plan.tick = 1;
  }

  void feed(Group& group, std::int32_t tokens) {
    group.sequences[0].chunk = tokens;
    ASSERT_EQ(running.make_room_for_chunk(group, group.sequences[0]), ChunkRoom::kFree);
  }
  void write() {
    writer.write(tick);
    amender.note_planned();
  }

  PlanWriter writer;
  PlanAmender amender;
  Tick tick;
};

TEST(PlanAmender, TakesOutAllThatAPlanSaysOfARowThatIsFree) {
  AmenderParts parts;
  Group& goes = parts.begin({.prompt = 6});
  Group& stays = parts.begin({.prompt = 4});
  parts.feed(goes, 6);
  parts.feed(stays, 4);
  parts.write();
  parts.running.remove(goes);
  parts.amender.drop_stale(parts.tick);
  const Plan& plan = parts.tick.plan;
  const std::int32_t row = stays.sequences[0].row;
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].row, row);
  ASSERT_EQ(plan.tables.size(), 1U);
  EXPECT_EQ(plan.tables[0].row, row);
  ASSERT_EQ(plan.entries.size(), 1U);
  EXPECT_EQ(plan.entries[0].row, row);
  ASSERT_EQ(plan.samples.size(), 1U);
  EXPECT_EQ(plan.samples[0].row, row);
  EXPECT_EQ(plan.samples[0].entry, 0) << "it was the second";
  EXPECT_EQ(parts.tick.owners[0].group, &stays);
  EXPECT_EQ(parts.tick.shape.prefill_tokens, 4);
}

TEST(PlanAmender, SettlesTheResultsThatItTakesOut) {
  AmenderParts parts;
  Group& goes = parts.begin({.prompt = 6});
  parts.feed(goes, 6);
  parts.write();
  ASSERT_EQ(goes.in_flight, 1);
  parts.running.remove(goes);
  goes.done = true;
  parts.amender.drop_stale(parts.tick);
  EXPECT_EQ(parts.groups.size(), 0U) << "nothing names it any more";
}

TEST(PlanAmender, LeavesAPlanAloneSinceWhichNobodyWent) {
  AmenderParts parts;
  Group& before = parts.begin({});
  Group& stays = parts.begin({.prompt = 4});
  parts.running.remove(before);
  parts.feed(stays, 4);
  parts.write();
  parts.amender.drop_stale(parts.tick);
  EXPECT_EQ(parts.tick.plan.entries.size(), 1U);
  EXPECT_EQ(parts.tick.plan.samples.size(), 1U);
}

TEST(PlanAmender, LetsThoseGiveWayWhosePromptIsNotComputed) {
  AmenderParts parts;
  Group& group = parts.begin({.prompt = 6, .sequences = 2});
  parts.feed(group, 6);
  parts.write();
  ASSERT_EQ(parts.tick.plan.forks.size(), 1U);
  parts.running.release(group, group.sequences[0]);
  group.sequences[0].end = SequenceEnd::kStop;
  --group.alive;
  parts.amender.drop_stale(parts.tick);
  EXPECT_FALSE(parts.runs(group));
  EXPECT_EQ(parts.waiting.size(), 1U);
  EXPECT_THAT(parts.tick.plan.forks, IsEmpty());
  EXPECT_THAT(parts.tick.plan.samples, IsEmpty());
  EXPECT_EQ(group.in_flight, 0);
  parts.check();
}

TEST(PlanAmender, WithdrawsPromptsOfBatchAlone) {
  AmenderParts parts;
  Group& batch = parts.begin({.prompt = 6, .cls = RequestClass::kBatch});
  Group& chat = parts.begin({.prompt = 5});
  parts.feed(batch, 6);
  parts.feed(chat, 5);
  parts.write();
  parts.amender.withdraw_batch_prompts(parts.tick);
  ASSERT_EQ(parts.tick.plan.entries.size(), 1U);
  EXPECT_EQ(parts.tick.plan.entries[0].row, chat.sequences[0].row);
  EXPECT_EQ(parts.tick.shape.prefill_tokens, 5);
  EXPECT_EQ(parts.tick.plan.starts.size(), 2U) << "its row has begun all the same";
  const Sequence& sequence = batch.sequences[0];
  EXPECT_EQ(sequence.progress.planned(), 0);
  EXPECT_EQ(sequence.under_way.results(), 0);
  EXPECT_EQ(batch.in_flight, 0);
  EXPECT_EQ(batch.phase, GroupPhase::kPrompt);
  EXPECT_FALSE(parts.rows.at(sequence.row).decodes);
  EXPECT_EQ(parts.amender.withdrawn_tokens(), 6U);
  EXPECT_TRUE(parts.runs(batch)) << "rows and pages stay";
}

TEST(PlanAmender, DoesNotWithdrawAPromptThatSeveralShare) {
  AmenderParts parts;
  Group& batch = parts.begin({.prompt = 6, .sequences = 2, .cls = RequestClass::kBatch});
  parts.feed(batch, 6);
  parts.write();
  parts.amender.withdraw_batch_prompts(parts.tick);
  EXPECT_EQ(parts.tick.plan.entries.size(), 1U);
  EXPECT_EQ(parts.amender.withdrawn_tokens(), 0U);
}

TEST(PlanAmender, DoesNotWithdrawADecodeOfBatch) {
  AmenderParts parts;
  Group& batch = parts.begin({.prompt = 4, .cls = RequestClass::kBatch});
  SchedulerParts::decode(batch);
  parts.feed(batch, 1);
  parts.write();
  parts.amender.withdraw_batch_prompts(parts.tick);
  EXPECT_EQ(parts.tick.plan.entries.size(), 1U);
}

}  // namespace
}  // namespace weft::test
