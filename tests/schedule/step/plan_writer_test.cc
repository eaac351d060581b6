#include "weft/schedule/step/plan_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct WriterParts : SchedulerParts {
  explicit WriterParts(const SchedulerOptions& how = small_options())
      : SchedulerParts(how), writer(how.limits, rows, memory) {
    tick.plan.tick = 1;
  }

  /// Chooses a chunk, with the pages for it.
  void feed(Group& group, std::int32_t tokens, std::size_t sequence = 0) {
    group.sequences[sequence].chunk = tokens;
    ASSERT_EQ(running.make_room_for_chunk(group, group.sequences[sequence]), ChunkRoom::kFree);
  }
  /// Lets the written plan's tokens arrive and begins the next plan.
  void next_tick() {
    for (const SampleOwner& owner : tick.owners) {
      Sequence& sequence = owner.group->sequences[static_cast<std::size_t>(owner.sequence)];
      sequence.under_way.take_result();
      sequence.add(TokenId{1});
      groups.settle_result(*owner.group);
    }
    const std::uint64_t number = tick.plan.tick;
    tick.clear();
    tick.plan.tick = number + 1;
  }

  PlanWriter writer;
  Tick tick;
};

TEST(PlanWriter, ThePlansShapeCountsOfAContextWhatTheWindowLetsATokenSee) {
  SchedulerOptions options = small_options();
  options.limits.window = 6;
  WriterParts parts(options);
  Group& group = parts.begin({.prompt = 24});
  parts.feed(group, 16);
  parts.writer.write(parts.tick);
  EXPECT_EQ(parts.tick.shape.context_tokens, 16);
  parts.next_tick();
  parts.feed(group, 8);
  parts.writer.write(parts.tick);
  EXPECT_EQ(parts.tick.shape.context_tokens, 5 + 8);
}

SchedulerOptions slab_options() {
  SchedulerOptions options = small_options();
  options.layout = KvLayout::kSlab;
  options.limits.pages = 4 * 8;
  return options;
}

TEST(PlanWriter, WritesAPromptWithItsStartItsTableAndItsSample) {
  WriterParts parts;
  Group& group = parts.begin({.prompt = 6});
  parts.feed(group, 6);
  parts.writer.write(parts.tick);
  const Plan& plan = parts.tick.plan;
  EXPECT_EQ(plan.first_row, 0);
  EXPECT_EQ(plan.rows, 1);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].prompt_tokens, 6);
  EXPECT_EQ(plan.starts[0].history_tokens, 0);
  ASSERT_EQ(plan.tables.size(), 1U);
  EXPECT_EQ(plan.tables[0].count, 2);
  ASSERT_EQ(plan.entries.size(), 1U);
  EXPECT_EQ(plan.entries[0].count, 6);
  EXPECT_EQ(plan.entries[0].start, 0);
  EXPECT_THAT(plan.ids, ElementsAre(7, 7, 7, 7, 7, 7));
  ASSERT_EQ(plan.samples.size(), 1U);
  EXPECT_EQ(parts.tick.owners[0].group, &group);
  EXPECT_EQ(group.in_flight, 1);
  EXPECT_EQ(group.sequences[0].under_way.results(), 1);
  EXPECT_EQ(group.sequences[0].chunk, 0);
  EXPECT_EQ(group.phase, GroupPhase::kForked);
  EXPECT_TRUE(parts.rows.at(0).decodes);
  EXPECT_EQ(parts.tick.shape.prefill_tokens, 6);
  EXPECT_EQ(parts.writer.prompt_tokens(), 6U);
}

TEST(PlanWriter, SamplesNothingWithinAPrompt) {
  WriterParts parts;
  Group& group = parts.begin({.prompt = 6});
  parts.feed(group, 4);
  parts.writer.write(parts.tick);
  EXPECT_THAT(parts.tick.plan.samples, IsEmpty());
  EXPECT_EQ(group.phase, GroupPhase::kPrompt);
  EXPECT_FALSE(parts.rows.at(0).decodes);
  parts.next_tick();
  parts.feed(group, 2);
  parts.writer.write(parts.tick);
  EXPECT_THAT(parts.tick.plan.starts, IsEmpty()) << "it has begun";
  EXPECT_THAT(parts.tick.plan.tables, IsEmpty()) << "the device has its table";
  EXPECT_EQ(parts.tick.plan.entries[0].start, 4);
  EXPECT_EQ(parts.tick.plan.samples.size(), 1U);
}

TEST(PlanWriter, FeedsTheTokenThatIsUnderWayByItsRow) {
  WriterParts parts;
  Group& group = parts.begin({.prompt = 3});
  parts.feed(group, 3);
  parts.writer.write(parts.tick);
  parts.tick.clear();
  parts.tick.plan.tick = 2;
  parts.feed(group, 1);
  parts.writer.write(parts.tick);
  EXPECT_EQ(parts.tick.plan.entries[0].first_id, kLastToken);
  EXPECT_THAT(parts.tick.plan.ids, IsEmpty());
  EXPECT_EQ(group.sequences[0].under_way.results(), 2);
}

TEST(PlanWriter, ForksThoseThatShareAPromptAndSamplesForAll) {
  WriterParts parts;
  Group& group = parts.begin({.prompt = 6, .sequences = 3});
  parts.feed(group, 6);
  parts.writer.write(parts.tick);
  const Plan& plan = parts.tick.plan;
  ASSERT_EQ(plan.forks.size(), 2U);
  EXPECT_EQ(plan.forks[0].from, 0);
  EXPECT_EQ(plan.forks[0].to, 1);
  EXPECT_EQ(plan.forks[1].to, 2);
  EXPECT_NE(plan.forks[0].seed, plan.forks[1].seed);
  EXPECT_EQ(plan.forks[0].copied_pages, 0);
  ASSERT_EQ(plan.samples.size(), 3U);
  for (const PlanSample& sample : plan.samples) EXPECT_EQ(sample.entry, 0);
  EXPECT_EQ(group.in_flight, 3);
  EXPECT_EQ(parts.memory.free(), 6);
  parts.check();
}

TEST(PlanWriter, LetsForksInSlabsCopyTheirPages) {
  WriterParts parts(slab_options());
  Group& group = parts.begin({.prompt = 6, .sequences = 2});
  parts.feed(group, 6);
  parts.writer.write(parts.tick);
  ASSERT_EQ(parts.tick.plan.forks.size(), 1U);
  EXPECT_EQ(parts.tick.plan.forks[0].copied_pages, 2);
  EXPECT_EQ(parts.tick.plan.tables.size(), 2U);
}

TEST(PlanWriter, TellsARowThatBeginsAgainWhatItHasComputed) {
  WriterParts parts;
  Group& group = parts.begin({.prompt = 4});
  Sequence& sequence = group.sequences[0];
  for (const TokenId token : {11, 12}) sequence.add(token);
  sequence.progress.begin(5);
  parts.feed(group, 1);
  parts.writer.write(parts.tick);
  const PlanStart& start = parts.tick.plan.starts[0];
  EXPECT_EQ(start.history_tokens, 5);
  EXPECT_THAT(parts.tick.plan.ids, ElementsAre(7, 7, 7, 7, 11, 12));
  EXPECT_EQ(parts.tick.plan.entries[0].first_id, 5);
}

TEST(PlanWriter, EncodesTheInputWithTheFirstChunk) {
  SchedulerOptions options = small_options();
  options.limits.cross_pages = 4;
  WriterParts parts(options);
  Group& group = parts.begin({.prompt = 2, .encoder_input = 5});
  parts.feed(group, 1);
  parts.writer.write(parts.tick);
  ASSERT_EQ(parts.tick.plan.encodes.size(), 1U);
  EXPECT_EQ(parts.tick.plan.encodes[0].count, 5);
  EXPECT_EQ(parts.tick.plan.encodes[0].pages, 2);
  EXPECT_TRUE(group.encoded);
  EXPECT_EQ(parts.tick.shape.prefill_tokens, 5) << "one token costs what a decode costs";
  parts.next_tick();
  parts.feed(group, 1);
  parts.writer.write(parts.tick);
  EXPECT_THAT(parts.tick.plan.encodes, IsEmpty());
}

TEST(PlanWriter, MovesRowsTogetherBeforeItNamesThem) {
  WriterParts parts;
  Group& first = parts.begin({.prompt = 8});
  Group& second = parts.begin({.prompt = 4});
  Group& third = parts.begin({.prompt = 4});
  for (Group* group : {&first, &second, &third}) SchedulerParts::decode(*group);
  parts.running.remove(second);
  parts.feed(third, 1);
  parts.writer.write(parts.tick);
  EXPECT_THAT(parts.tick.plan.moves, ElementsAre(PlanMove{2, 1}));
  EXPECT_EQ(parts.tick.plan.rows, 2);
  EXPECT_EQ(parts.tick.plan.entries[0].row, 1);
}

TEST(PlanWriter, RenamesWhatAWaitingPlanSaysOfARowThatMoves) {
  WriterParts parts;
  Group& first = parts.begin({.prompt = 8});
  Group& second = parts.begin({.prompt = 4});
  Group& third = parts.begin({.prompt = 4});
  SchedulerParts::decode(first);
  SchedulerParts::decode(second);
  parts.feed(third, 4);
  parts.writer.write(parts.tick);
  ASSERT_EQ(parts.tick.plan.entries[0].row, 2);
  parts.running.remove(second);
  parts.writer.write_more(parts.tick);
  const Plan& plan = parts.tick.plan;
  EXPECT_THAT(plan.moves, ElementsAre(PlanMove{2, 1}));
  EXPECT_EQ(plan.starts[0].row, 1);
  EXPECT_EQ(plan.tables[0].row, 1);
  EXPECT_EQ(plan.entries[0].row, 1);
  EXPECT_EQ(plan.samples[0].row, 1);
}

TEST(PlanWriter, WritesTheTableOfASlabThatMovesInAWaitingPlanAnew) {
  WriterParts parts(slab_options());
  Group& first = parts.begin({.prompt = 8});
  Group& second = parts.begin({.prompt = 4});
  Group& third = parts.begin({.prompt = 4});
  SchedulerParts::decode(first);
  SchedulerParts::decode(second);
  parts.feed(third, 4);
  parts.writer.write(parts.tick);
  parts.running.remove(second);
  parts.writer.write_more(parts.tick);
  const Plan& plan = parts.tick.plan;
  ASSERT_EQ(plan.moves.size(), 1U);
  ASSERT_EQ(plan.tables.size(), 2U);
  EXPECT_EQ(plan.tables[1].row, 1);
  EXPECT_EQ(plan.pages[static_cast<std::size_t>(plan.tables[1].first_page)], 8);
}

}  // namespace
}  // namespace weft::test
