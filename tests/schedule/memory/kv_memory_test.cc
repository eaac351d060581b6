#include "weft/schedule/memory/kv_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Eight pages of four tokens, unless a test says otherwise.
DeviceLimits small_limits() { return small_options().limits; }

/// A slab of eight pages for each of four rows.
DeviceLimits slab_limits() {
  DeviceLimits limits = small_limits();
  limits.pages = 4 * 8;
  return limits;
}

TEST(KvMemory, CountsTheMostPagesOfAGroupWithItsPromptShared) {
  const PlanClock clock;
  const KvMemory memory(clock, small_limits(), KvLayout::kPages);
  // The last token's keys and values are never needed: 4 + 4 tokens, then 4 + 5.
  EXPECT_EQ(memory.most_pages(make_group({.prompt = 4, .max_tokens = 5})->spec), 2);
  EXPECT_EQ(memory.most_pages(make_group({.prompt = 4, .max_tokens = 6})->spec), 3);
  // Two pages of the prompt are full and shared, and each output has two more of its own.
  const auto three = make_group({.prompt = 9, .max_tokens = 8, .sequences = 3});
  EXPECT_EQ(memory.most_pages(three->spec), 2 + 3 * 2);
}

TEST(KvMemory, CountsWhatAGroupNeedsToBeginWithTheTokensThatItHas) {
  const PlanClock clock;
  const KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({.prompt = 4, .max_tokens = 20, .sequences = 2});
  EXPECT_EQ(memory.pages_to_begin(*group), 1 + 2);
  for (int i = 0; i < 4; ++i) group->sequences[0].add(1);
  EXPECT_EQ(memory.pages_to_begin(*group), 1 + 2 + 1);
  group->sequences[1].end = SequenceEnd::kStop;
  EXPECT_EQ(memory.pages_to_begin(*group), 1 + 2);
}

TEST(KvMemory, ExtendsATableByWhatItLacks) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({});
  group->encoded = true;
  Sequence& one = group->sequences[0];
  ASSERT_TRUE(memory.extend(one, 5));
  EXPECT_EQ(one.table.pages.size(), 2U);
  ASSERT_TRUE(memory.extend(one, 8));
  EXPECT_EQ(one.table.pages.size(), 2U);
  EXPECT_EQ(memory.free(), 6);
  memory.release(*group, one);
  EXPECT_THAT(one.table.pages, IsEmpty());
  EXPECT_EQ(memory.free(), 8);
}

TEST(KvMemory, LeavesATableAsItIsWhereTooFewPagesAreFree) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({.sequences = 2});
  group->encoded = true;
  ASSERT_TRUE(memory.extend(group->sequences[0], 7 * 4));
  EXPECT_FALSE(memory.extend(group->sequences[1], 5));
  EXPECT_THAT(group->sequences[1].table.pages, IsEmpty());
  EXPECT_EQ(memory.free(), 1);
}

TEST(KvMemory, GivesTheEncodersPagesToAGroupAndTakesThemBackWithIt) {
  DeviceLimits limits = small_limits();
  limits.cross_pages = 3;
  const PlanClock clock;
  KvMemory memory(clock, limits, KvLayout::kPages);
  const auto group = make_group({.sequences = 2, .encoder_input = 9});
  const auto other = make_group({.encoder_input = 1});
  EXPECT_EQ(memory.cross_pages_to_begin(*group), 3);
  EXPECT_EQ(memory.begin_encoder(*group), 0);
  EXPECT_FALSE(group->encoded);
  EXPECT_EQ(memory.free_cross(), 0);
  EXPECT_EQ(group->cross_pages.size(), 3U);
  memory.release(*group);
  EXPECT_EQ(memory.free_cross(), 3);
  EXPECT_EQ(memory.begin_encoder(*other), 0);
  EXPECT_EQ(memory.free_cross(), 2);
}

TEST(KvMemory, HashesAnEncodersInputOnceHoweverOftenItIsLookedFor) {
  DeviceLimits limits = small_limits();
  limits.cross_pages = 6;
  PlanClock clock;
  KvMemory memory(clock, limits, KvLayout::kPages, /*keeps=*/true);
  const auto first = make_group({.encoder_input = 9});
  const auto waiting = make_group({.encoder_input = 9});
  EXPECT_EQ(memory.cross_pages_to_begin(*waiting), 3);
  memory.begin_encoder(*first);
  clock.begin_plan();
  memory.note_encoded(*first);
  clock.write();
  clock.run(1);
  ASSERT_TRUE(waiting->encoder_hash);
  EXPECT_EQ(memory.cross_pages_to_begin(*waiting), 0);
  // What it is looked for by is what was computed then, right or not.
  waiting->encoder_hash = ~*waiting->encoder_hash;
  EXPECT_EQ(memory.cross_pages_to_begin(*waiting), 3);
}

TEST(KvMemory, CountsAnEncodersPagesThatAllOfAClassHaveInCommonOnce) {
  DeviceLimits limits = small_limits();
  limits.cross_pages = 6;
  PlanClock clock;
  KvMemory memory(clock, limits, KvLayout::kPages, /*keeps=*/true);
  const auto first = make_group({.encoder_input = 9, .cls = RequestClass::kBatch});
  const auto second = make_group({.encoder_input = 9, .cls = RequestClass::kBatch});
  const auto chat = make_group({.encoder_input = 9});
  memory.begin_encoder(*first);
  clock.begin_plan();
  memory.note_encoded(*first);
  clock.write();
  clock.run(1);
  EXPECT_EQ(memory.cross_pages_to_begin(*second), 0);
  EXPECT_EQ(memory.begin_encoder(*second), 9);
  EXPECT_TRUE(second->encoded);
  std::array<Group*, 3> all{first.get(), second.get(), chat.get()};
  EXPECT_EQ(memory.cross_pages_held_by(all, RequestClass::kBatch), 3);
  memory.begin_encoder(*chat);
  EXPECT_EQ(memory.cross_pages_held_by(all, RequestClass::kBatch), 0) << "they stay chat's";
  EXPECT_EQ(memory.free_cross(), 3);
}

TEST(KvMemory, CopiesASharedPageForWhoeverWritesToItFirst) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({.sequences = 2});
  group->encoded = true;
  Sequence& first = group->sequences[0];
  Sequence& second = group->sequences[1];
  ASSERT_TRUE(memory.extend(first, 6));
  EXPECT_EQ(memory.fork(first, second), 0);
  EXPECT_EQ(second.table.pages, first.table.pages);
  EXPECT_EQ(memory.free(), 6);
  const std::array<Group*, 1> all{group.get()};
  EXPECT_EQ(memory.pages_held_by(all, RequestClass::kChat), 2);
  EXPECT_EQ(memory.pages_held_by(all, RequestClass::kBatch), 0);

  second.table.sent = 2;
  const PageId shared = second.table.pages[1];
  ASSERT_TRUE(memory.make_writable(second, 1));
  EXPECT_NE(second.table.pages[1], shared);
  EXPECT_EQ(second.table.pages[0], first.table.pages[0]);
  EXPECT_EQ(second.table.sent, 1U) << "the device must hear of the page";
  EXPECT_EQ(memory.pages_held_by(all, RequestClass::kChat), 3);
  ASSERT_TRUE(memory.make_writable(first, 1));  // has it alone now
  EXPECT_EQ(first.table.pages[1], shared);

  Plan plan;
  memory.write_copies(plan);
  ASSERT_EQ(plan.copies.size(), 1U);
  EXPECT_EQ(plan.copies[0].from, shared);
  EXPECT_EQ(plan.copies[0].to, second.table.pages[1]);
  memory.write_copies(plan);
  EXPECT_EQ(plan.copies.size(), 1U) << "a copy is made once";
  memory.check(all);
}

TEST(KvMemory, SaysSoWhenNoPageIsLeftToCopyTo) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({.sequences = 2});
  group->encoded = true;
  ASSERT_TRUE(memory.extend(group->sequences[0], 8 * 4));
  EXPECT_EQ(memory.fork(group->sequences[0], group->sequences[1]), 0);
  EXPECT_FALSE(memory.make_writable(group->sequences[1], 7));
  EXPECT_EQ(group->sequences[1].table.pages, group->sequences[0].table.pages);
}

TEST(KvMemory, KeepsASharedPageUntilTheLastHasReleasedIt) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({.sequences = 2});
  group->encoded = true;
  ASSERT_TRUE(memory.extend(group->sequences[0], 8));
  EXPECT_EQ(memory.fork(group->sequences[0], group->sequences[1]), 0);
  memory.release(*group, group->sequences[0]);
  EXPECT_EQ(memory.free(), 6);
  memory.release(*group, group->sequences[1]);
  EXPECT_EQ(memory.free(), 8);
}

TEST(KvMemory, PromisesAGroupItsMostPagesUntilItIsReleased) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({.prompt = 4, .max_tokens = 6});
  memory.reserve(*group);
  EXPECT_EQ(memory.reserved(), 3);
  EXPECT_EQ(group->reserved, 3);
  memory.release(*group);
  EXPECT_EQ(memory.reserved(), 0);
}

TEST(KvMemory, GivesASlabsPagesByTheRowAndMovesThemWithIt) {
  const PlanClock clock;
  KvMemory memory(clock, slab_limits(), KvLayout::kSlab);
  const auto group = make_group({});
  group->encoded = true;
  Sequence& one = group->sequences[0];
  one.row = 2;
  ASSERT_TRUE(memory.extend(one, 12));
  EXPECT_THAT(one.table.pages, ElementsAre(16, 17, 18));
  one.progress.begin(5);
  one.row = 1;
  memory.follow_row(one);
  EXPECT_THAT(one.table.pages, ElementsAre(8, 9, 10));
  EXPECT_EQ(one.table.sent, 0U);
  Plan plan;
  memory.write_copies(plan);
  ASSERT_EQ(plan.slab_copies.size(), 2U) << "the third page holds nothing yet";
  EXPECT_EQ(plan.slab_copies[1].from, 17);
  EXPECT_EQ(plan.slab_copies[1].to, 9);
}

TEST(KvMemory, ForksASlabIntoPagesThatHaveToBeCopied) {
  const PlanClock clock;
  KvMemory memory(clock, slab_limits(), KvLayout::kSlab);
  const auto group = make_group({.sequences = 2});
  group->encoded = true;
  group->sequences[0].row = 0;
  group->sequences[1].row = 3;
  group->sequences[1].progress.begin(6);
  ASSERT_TRUE(memory.extend(group->sequences[0], 6));
  EXPECT_EQ(memory.fork(group->sequences[0], group->sequences[1]), 2);
  EXPECT_THAT(group->sequences[1].table.pages, ElementsAre(24, 25));
}

TEST(KvMemory, RefusesSlabsThatTheDeviceHasNoRoomFor) {
  DeviceLimits limits = slab_limits();
  --limits.pages;
  WEFT_EXPECT_BUG(KvMemory(PlanClock(), limits, KvLayout::kSlab), "rows lack their slabs");
}

TEST(KvMemory, FindsAPageThatIsInATableAndNotCounted) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({});
  group->encoded = true;
  ASSERT_TRUE(memory.extend(group->sequences[0], 4));
  const std::array<Group*, 1> all{group.get()};
  memory.check(all);
  group->sequences[0].table.pages.push_back(group->sequences[0].table.pages[0]);
  WEFT_EXPECT_BUG(memory.check(all), "miscounted");
}

TEST(KvMemory, FindsAPageThatIsCountedAndInNoTable) {
  const PlanClock clock;
  KvMemory memory(clock, small_limits(), KvLayout::kPages);
  const auto group = make_group({});
  group->encoded = true;
  ASSERT_TRUE(memory.extend(group->sequences[0], 8));
  group->sequences[0].table.pages.pop_back();
  const std::array<Group*, 1> all{group.get()};
  WEFT_EXPECT_BUG(memory.check(all), "miscounted");
}

}  // namespace
}  // namespace weft::test
