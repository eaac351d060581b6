#include "weft/schedule/running_groups.h"

#include <gtest/gtest.h>

#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

TEST(RunningGroups, GiveAGroupItsRowsAndItsPromptsPages) {
  SchedulerParts parts;
  Group& group = parts.arrive({.prompt = 5, .sequences = 3});
  parts.running.begin(group);
  EXPECT_TRUE(parts.runs(group));
  EXPECT_TRUE(parts.waiting.empty());
  EXPECT_EQ(group.phase, GroupPhase::kPrompt);
  EXPECT_EQ(parts.rows.free(), 1);
  EXPECT_EQ(parts.memory.free(), 6) << "the first computes the prompt for all";
  parts.check();
}

TEST(RunningGroups, TakeMemoryForAllThatAGroupMayComeToAtItsFirstRow) {
  SchedulerParts parts;
  Group& group = parts.arrive({.prompt = 5, .max_tokens = 9});
  EXPECT_EQ(group.sequences[0].outputs.capacity(), 0U);
  parts.running.begin(group);
  EXPECT_GE(group.sequences[0].outputs.capacity(), 9U);
  EXPECT_GE(group.sequences[0].table.pages.capacity(), 5U);  // 14 tokens, and one page to copy to
}

TEST(RunningGroups, RefuseAGroupWhosePagesNobodyCounted) {
  SchedulerParts parts;
  parts.begin({.prompt = 7 * 4});
  Group& large = parts.arrive({.prompt = 8});
  WEFT_EXPECT_BUG(parts.running.begin(large), "pages that were counted");
}

TEST(RunningGroups, ReservePagesOnlyInThatMode) {
  SchedulerOptions options = small_options();
  options.admission = AdmissionMode::kReserve;
  SchedulerParts reserve(options);
  Group& group = reserve.begin({.prompt = 4, .max_tokens = 6});
  EXPECT_EQ(reserve.memory.reserved(), 3);
  reserve.running.remove(group);
  EXPECT_EQ(reserve.memory.reserved(), 0);

  SchedulerParts optimistic;
  optimistic.begin({.prompt = 4, .max_tokens = 6});
  EXPECT_EQ(optimistic.memory.reserved(), 0);
}

TEST(RunningGroups, LetAGroupThatGaveWayKeepItsTokensAndNothingElse) {
  SchedulerParts parts;
  Group& group = parts.begin({.prompt = 4, .sequences = 2});
  SchedulerParts::decode(group);
  for (int i = 0; i < 2; ++i) group.sequences[0].add(1);
  const std::uint32_t serial = group.sequences[0].under_way.serial();
  parts.running.preempt(group);
  EXPECT_FALSE(parts.runs(group));
  EXPECT_EQ(group.phase, GroupPhase::kWaiting);
  EXPECT_EQ(parts.waiting.size(), 1U);
  EXPECT_EQ(parts.rows.free(), 4);
  EXPECT_EQ(parts.memory.free(), 8);
  const Sequence& one = group.sequences[0];
  EXPECT_EQ(one.outputs.size(), 2U);
  EXPECT_EQ(one.progress.planned(), 0);
  EXPECT_EQ(one.under_way.results(), 0);
  EXPECT_TRUE(one.fresh);
  EXPECT_NE(one.under_way.serial(), serial) << "results under way do not count";
  EXPECT_EQ(parts.running.preemptions(), 1U);
}

TEST(RunningGroups, LetTheBatchThatLosesLeastGiveWay) {
  SchedulerParts parts;
  Group& large = parts.begin({.prompt = 8, .cls = RequestClass::kBatch});
  Group& small = parts.begin({.prompt = 4, .cls = RequestClass::kBatch});
  Group& chat = parts.begin({.prompt = 4});
  for (Group* group : {&large, &small, &chat}) SchedulerParts::decode(*group);
  EXPECT_EQ(parts.running.victim(chat), &small);
  EXPECT_EQ(parts.running.victim(small), &large) << "not itself";
}

TEST(RunningGroups, LetChatGiveWayToEarlierChatAloneAndTheLastFirst) {
  SchedulerParts parts;
  Group& first = parts.begin({});
  Group& second = parts.begin({});
  Group& third = parts.begin({});
  EXPECT_EQ(parts.running.victim(first), &third);
  EXPECT_EQ(parts.running.victim(second), &third);
  EXPECT_EQ(parts.running.victim(third), nullptr);
  Group& batch = parts.arrive({.cls = RequestClass::kBatch});
  EXPECT_EQ(parts.running.victim(batch), nullptr);
}

TEST(RunningGroups, LetALowerPriorityGiveWayBeforeALaterArrival) {
  SchedulerParts parts;
  Group& first = parts.begin({});
  Group& unimportant = parts.begin({.priority = 1});
  parts.begin({});
  EXPECT_EQ(parts.running.victim(first), &unimportant);
}

TEST(RunningGroups, TakeAChunksPagesFromWhatIsFree) {
  SchedulerParts parts;
  Group& group = parts.begin({.prompt = 4});
  SchedulerParts::decode(group);
  group.sequences[0].chunk = 1;
  EXPECT_EQ(parts.running.make_room_for_chunk(group, group.sequences[0]), ChunkRoom::kFree);
  EXPECT_EQ(group.sequences[0].table.pages.size(), 2U);
}

TEST(RunningGroups, TakeAChunksPagesFromOthersWhereNoneAreFree) {
  SchedulerParts parts;
  Group& group = parts.begin({.prompt = 4});
  Group& batch = parts.begin({.prompt = 7 * 4, .cls = RequestClass::kBatch});
  ASSERT_EQ(parts.memory.free(), 0);
  SchedulerParts::decode(group);
  group.sequences[0].chunk = 1;
  EXPECT_EQ(parts.running.make_room_for_chunk(group, group.sequences[0]), ChunkRoom::kTaken);
  EXPECT_FALSE(parts.runs(batch));
  EXPECT_EQ(group.sequences[0].table.pages.size(), 2U);
  parts.check();
}

TEST(RunningGroups, LetAGroupGiveWayItselfWhereNobodyDoesForIt) {
  SchedulerParts parts;
  parts.begin({.prompt = 7 * 4});
  Group& later = parts.begin({.prompt = 4});
  ASSERT_EQ(parts.memory.free(), 0);
  SchedulerParts::decode(later);
  later.sequences[0].chunk = 1;
  EXPECT_EQ(parts.running.make_room_for_chunk(later, later.sequences[0]), ChunkRoom::kNone);
  EXPECT_FALSE(parts.runs(later));
  EXPECT_EQ(later.sequences[0].chunk, 0);
  parts.check();
}

}  // namespace
}  // namespace weft::test
