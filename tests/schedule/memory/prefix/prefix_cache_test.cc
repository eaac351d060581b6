#include "weft/schedule/memory/prefix/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/schedule/memory/prefix/four_pages.h"

namespace weft::test {
namespace {

using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(PrefixCache, WithoutKeepingIsAPoolOfPages) {
  const PlanClock clock;
  PrefixCache cache(clock, {.pages = 4, .page_tokens = 2});
  std::vector<PageId> pages;
  ASSERT_TRUE(cache.take(3, pages));
  EXPECT_EQ(cache.free(), 1);
  EXPECT_EQ(cache.references(pages[0]), 1);
  cache.release(pages);
  EXPECT_EQ(cache.free(), 4);
  EXPECT_FALSE(cache.nodes().is_kept(pages[0]));
  cache.check();
}

TEST(PrefixCache, AKeptPageThatIsLeftCountsAsFreeAndIsFound) {
  FourPages four;
  const auto pages = four.keep_path(1, 2);
  EXPECT_EQ(four.cache.free(), 2);
  EXPECT_EQ(four.cache.references(pages[0]), 1) << "the cache's own does not count";
  four.cache.release(pages);
  EXPECT_EQ(four.cache.free(), 4);
  EXPECT_EQ(four.cache.tiers().device.idle(), 2);
  EXPECT_EQ(four.find(kNoPage, 1), pages[0]);
  EXPECT_EQ(four.find(pages[0], 1), pages[1]);
  four.cache.share(pages);
  EXPECT_EQ(four.cache.free(), 2);
  EXPECT_EQ(four.cache.tiers().device.idle(), 0);
  four.cache.check();
}

TEST(PrefixCache, GivesUpTheEndOfWhatWasLeftLongestAgo) {
  FourPages four;
  const auto first = four.keep_path(1, 2);
  const auto second = four.keep_path(2, 2);
  four.cache.release(second);
  four.cache.release(first);
  std::vector<PageId> taken;
  ASSERT_TRUE(four.cache.take(1, taken));
  EXPECT_EQ(taken.back(), second[1]);
  ASSERT_TRUE(four.cache.take(2, taken));
  EXPECT_THAT(taken, UnorderedElementsAre(second[1], second[0], first[1]));
  EXPECT_EQ(four.find(kNoPage, 2), kNoPage);
  EXPECT_EQ(four.find(kNoPage, 1), first[0]) << "what leads there goes last";
  EXPECT_EQ(four.cache.nodes().given_up(), 3U);
  four.cache.check();
}

TEST(PrefixCache, NeverGivesUpWhatATableHas) {
  FourPages four;
  const auto pages = four.keep_path(1, 2);
  std::vector<PageId> taken;
  EXPECT_FALSE(four.cache.take(3, taken));
  EXPECT_TRUE(taken.empty());
  EXPECT_TRUE(four.cache.take(2, taken));
  EXPECT_EQ(four.find(kNoPage, 1), pages[0]);
}

TEST(PrefixCache, ForgetsAllWhenNoTableHasAny) {
  FourPages four;
  const auto pages = four.keep_path(1, 3);
  four.cache.release(pages);
  four.cache.nodes().forget_all();
  EXPECT_EQ(four.cache.nodes().kept(), 0);
  EXPECT_EQ(four.cache.free(), 4);
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  EXPECT_EQ(four.cache.nodes().given_up(), 0U);
  FourPages used;
  (void)used.keep_path(1, 1);
  WEFT_EXPECT_BUG(used.cache.nodes().forget_all(), "sequences have");
}

TEST(PrefixCache, WhatAPageLedToIsFoundBehindAHollowNode) {
  FourPages four(0, 2);
  const auto pages = four.keep_path(1, 3);
  four.give_up(pages[0]);
  const PageId hollow = four.find(kNoPage, 1);
  EXPECT_TRUE(four.cache.tiers().is_hollow(hollow));
  EXPECT_EQ(four.find(hollow, 1), pages[1]);
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 1);
  EXPECT_EQ(four.cache.nodes().kept(), 2);
  EXPECT_EQ(four.cache.nodes().given_up(), 1U);
  four.cache.check();
}

TEST(PrefixCache, AHollowNodeIsFilledByWhoComputesItsTokens) {
  FourPages four(0, 2);
  const auto pages = four.keep_path(1, 2);
  four.give_up(pages[0]);
  const PageId own = pages[0];  // it was taken by another
  EXPECT_EQ(four.cache.nodes().keep({}, kNoPage, own, Tokens{1, 0}), own);
  EXPECT_EQ(four.find(kNoPage, 1), own);
  EXPECT_EQ(four.find(own, 1), pages[1]);
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 0);
  EXPECT_EQ(four.cache.references(own), 1);
  four.cache.nodes().take_back(own);
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 1) << "what it leads to is there";
  EXPECT_EQ(four.cache.references(own), 1);
  four.cache.check();
}

TEST(PrefixCache, HollowNodesGoWithTheLastPageBehindThem) {
  FourPages four(0, 2);
  const auto pages = four.keep_path(1, 3);
  four.give_up(pages[0]);
  four.give_up(pages[1]);
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 2);
  four.give_up(pages[2]);
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 0);
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  EXPECT_EQ(four.cache.nodes().kept(), 0);
  four.cache.check();
}

TEST(PrefixCache, TheHollowNodeUsedLongestAgoIsForgottenForAnotherWithAllBehindIt) {
  for (const bool uses : {false, true}) {
    FourPages four(0, 2);
    const auto first = four.keep_path(1, 2);
    const auto second = four.keep_path(2, 2);
    four.give_up(first[0]);
    four.give_up(second[0]);
    if (uses) four.cache.nodes().leave_path(four.find(kNoPage, 1), 0);
    // A third path, of pages that were given up.
    four.cache.nodes().keep({}, kNoPage, first[0], Tokens{3, 0});
    four.cache.nodes().keep({}, first[0], second[0], Tokens{3, 0});
    four.give_up(first[0]);
    EXPECT_EQ(four.cache.tiers().hollow.taken(), 2);
    EXPECT_NE(four.find(kNoPage, 3), kNoPage);
    EXPECT_EQ(four.find(kNoPage, 1) != kNoPage, uses);
    EXPECT_EQ(four.find(kNoPage, 2) != kNoPage, !uses);
    EXPECT_EQ(four.cache.nodes().is_kept(first[1]), uses);
    EXPECT_EQ(four.cache.references(first[1]), 1) << "whoever has it goes on with it";
    four.cache.check();
  }
}

TEST(PrefixCache, APageIsForgottenWithTheHollowNodeThatMakesRoomForIt) {
  FourPages four(0, 1);
  const auto pages = four.keep_path(1, 3);
  four.give_up(pages[0]);
  four.give_up(pages[1]);
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 0);
  EXPECT_EQ(four.cache.nodes().kept(), 0);
  EXPECT_EQ(four.cache.references(pages[2]), 1);
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  four.cache.check();
}

TEST(PrefixCache, ForgetsHollowNodesWithAllElse) {
  FourPages four(0, 2);
  const auto pages = four.keep_path(1, 3);
  four.give_up(pages[0]);
  four.cache.release(std::span(pages).subspan(1));
  four.cache.nodes().forget_all();
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 0);
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  four.cache.check();
}

TEST(PrefixCache, APageGoesToHostMemoryThoughWhatItLeadsToIsHere) {
  FourPages four(2, 4);
  const auto pages = four.keep_path(1, 3);
  four.give_up(pages[0]);
  const PageId first = four.find(kNoPage, 1);
  EXPECT_TRUE(four.cache.tiers().is_on_host(first));
  EXPECT_EQ(four.find(first, 1), pages[1]);
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 0);
  EXPECT_EQ(four.cache.nodes().given_up(), 0U);
  four.cache.check();
}

TEST(PrefixCache, APlaceThatIsNeededLeavesAHollowNodeWhereItLedSomewhere) {
  FourPages four(1, 4);
  const auto pages = four.keep_path(1, 3);
  four.give_up(pages[0]);
  four.give_up(pages[1]);
  const PageId first = four.find(kNoPage, 1);
  EXPECT_TRUE(four.cache.tiers().is_hollow(first));
  const PageId second = four.find(first, 1);
  EXPECT_TRUE(four.cache.tiers().is_on_host(second));
  EXPECT_EQ(four.find(second, 1), pages[2]);
  EXPECT_EQ(four.cache.nodes().given_up(), 1U);
  four.cache.check();
  four.give_up(pages[2]);
  EXPECT_TRUE(four.cache.tiers().is_hollow(four.find(first, 1)));
  four.cache.nodes().forget_all();
  EXPECT_EQ(four.cache.tiers().hollow.taken() + four.cache.tiers().host.taken(), 0);
}

TEST(PrefixCache, APlaceThatNothingContinuesGoesWithTheHollowNodesThatLedToIt) {
  FourPages four(1, 4);
  const auto pages = four.keep_path(1, 2);
  four.give_up(pages[0]);
  four.give_up(pages[1]);  // whose place was the first one's
  ASSERT_EQ(four.cache.tiers().hollow.taken(), 1);
  ASSERT_EQ(four.cache.tiers().host.taken(), 1);
  const PageId other = pages[0];
  four.cache.nodes().keep({}, kNoPage, other, Tokens{2, 0});
  four.give_up(other);
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  EXPECT_TRUE(four.cache.tiers().is_on_host(four.find(kNoPage, 2)));
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 0);
  EXPECT_EQ(four.cache.nodes().given_up(), 2U);
  four.cache.check();
}

TEST(PrefixCache, APageThatHasToGoForItsPlaceNeedsNone) {
  FourPages four(1, 1);
  const auto first = four.keep_path(1, 3);
  four.give_up(first[0]);
  four.give_up(first[1]);  // whose place was the first one's, which is hollow
  ASSERT_EQ(four.cache.tiers().hollow.taken(), 1);
  // For its place the second one would be hollow, and for that the first goes with all behind it.
  four.give_up(first[2]);
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  EXPECT_EQ(four.cache.tiers().host.taken() + four.cache.tiers().hollow.taken() +
                four.cache.nodes().kept(),
            0);
  EXPECT_EQ(four.cache.nodes().given_up(), 3U);
  four.cache.check();
}

TEST(PrefixCache, APathIsHadFromWhicheverMemoryItsPagesAreIn) {
  FourPages four(3, 4);
  const auto pages = four.keep_path(1, 3);
  four.give_up(pages[0]);
  four.give_up(pages[2]);
  // Whoever took the first one's page leaves it, the only one that is free.
  four.cache.release(std::span(pages).first(1));
  four.copies.clear();
  const PageId first = four.find(kNoPage, 1);
  std::vector<PageId> path{pages[1], four.find(pages[1], 1)};
  ASSERT_TRUE(four.cache.tiers().is_on_host(path[1]));
  const PageId place = path[1];
  ASSERT_TRUE(four.cache.share_path(path));
  EXPECT_EQ(path, (std::vector{pages[1], pages[0]}));
  EXPECT_EQ(four.cache.references(pages[1]), 2);
  EXPECT_EQ(four.cache.references(pages[0]), 1);
  ASSERT_EQ(four.copies.size(), 1U);
  EXPECT_EQ(four.copies[0].from, place);
  EXPECT_EQ(four.copies[0].to, pages[0]);
  EXPECT_EQ(four.find(kNoPage, 1), first) << "what leads there stays where it is";
  EXPECT_EQ(four.cache.tiers().host.taken(), 1);
  four.cache.check();
}

TEST(PrefixCache, WherePagesAreLentWhatTheyLedToStays) {
  FourPages four(2, 4);
  const auto pages = four.keep_path(1, 3);
  std::vector<PageId> rest;
  ASSERT_TRUE(four.cache.take(1, rest));
  four.cache.release(std::span(pages).first(1));
  std::vector<PageId> lent;
  ASSERT_TRUE(four.cache.lend(1, lent));
  EXPECT_EQ(lent, (std::vector{pages[0]}));
  EXPECT_TRUE(four.copies.empty()) << "perhaps no plan comes before it is filled";
  EXPECT_TRUE(four.cache.tiers().is_hollow(four.find(kNoPage, 1)));
  EXPECT_TRUE(four.cache.nodes().is_kept(pages[1]));
  four.cache.give_back(lent);
  four.cache.check();
}

TEST(PrefixCache, WhatIsGivenUpGoesToHostMemoryAndIsFoundThere) {
  FourPages four(3);
  four.cache.release(four.keep_path(1, 2));
  std::vector<PageId> taken;
  ASSERT_TRUE(four.cache.take(3, taken));
  ASSERT_EQ(four.copies.size(), 1U);
  const PageId first = four.find(kNoPage, 1);
  const PageId second = four.find(first, 1);
  EXPECT_FALSE(four.cache.tiers().is_on_host(first));
  EXPECT_TRUE(four.cache.tiers().is_on_host(second)) << "the last leaves first";
  EXPECT_EQ(four.copies[0].to, second);
  EXPECT_EQ(four.cache.tiers().host.taken(), 1);
  EXPECT_EQ(four.cache.nodes().given_up(), 0U);
  four.cache.check();
}

TEST(PrefixCache, WhatIsInHostMemoryComesBackInTheOrderOfItsPath) {
  FourPages four(4);
  four.send_out(1, 3);
  four.copies.clear();
  std::vector<PageId> places{four.find(kNoPage, 1)};
  places.push_back(four.find(places[0], 1));
  places.push_back(four.find(places[1], 1));
  std::vector<PageId> table = places;
  ASSERT_TRUE(four.cache.share_path(table));
  EXPECT_EQ(four.find(kNoPage, 1), table[0]);
  EXPECT_EQ(four.find(table[1], 1), table[2]);
  EXPECT_EQ(four.cache.references(table[0]), 1);
  ASSERT_EQ(four.copies.size(), 3U);
  EXPECT_EQ(four.copies[2].from, places[2]);
  EXPECT_EQ(four.copies[2].to, table[2]);
  EXPECT_EQ(four.cache.tiers().host.taken(), 0);
  four.cache.check();
}

TEST(PrefixCache, APathThatThereIsNoRoomForIsNotHad) {
  FourPages four(4);
  four.cache.release(four.keep_path(1, 3));
  std::vector<PageId> taken;
  ASSERT_TRUE(four.cache.take(4, taken));
  four.cache.release(std::span(taken).first(1));
  std::vector<PageId> path{four.find(kNoPage, 1)};
  path.push_back(four.find(path[0], 1));
  EXPECT_FALSE(four.cache.share_path(path));
  const PageId first = four.find(kNoPage, 1);
  EXPECT_TRUE(four.cache.tiers().is_here(first)) << "it came before there was no room";
  EXPECT_EQ(four.cache.references(first), 0);
  EXPECT_TRUE(four.cache.tiers().is_on_host(four.find(first, 1)));
  four.cache.check();
}

TEST(PrefixCache, WhenHostMemoryIsFullTheOldestEndsGoToNothing) {
  FourPages four(2);
  four.send_out(1, 3);
  EXPECT_EQ(four.cache.nodes().given_up(), 1U);
  const PageId first = four.find(kNoPage, 1);
  const PageId second = four.find(first, 1);
  EXPECT_NE(second, kNoPage);
  EXPECT_EQ(four.find(second, 1), kNoPage);
  four.cache.check();
}

TEST(PrefixCache, APageThatIsComputedAgainTakesThePlaceOfItsCopy) {
  FourPages four(4);
  four.send_out(1, 2);
  const auto again = four.keep_path(1, 1);
  EXPECT_EQ(four.find(kNoPage, 1), again[0]);
  EXPECT_EQ(four.cache.tiers().host.taken(), 1) << "what continues it is still there";
  EXPECT_TRUE(four.cache.tiers().is_on_host(four.find(again[0], 1)));
  four.cache.check();
}

TEST(PrefixCache, WhatMayStillChangeDoesNotGoToHostMemory) {
  FourPages four(4);
  four.make_plan();
  const auto pages = four.keep_path(1, 1);
  four.cache.nodes().mark_unsure(pages[0]);
  four.cache.release(pages);
  std::vector<PageId> taken;
  ASSERT_TRUE(four.cache.take(4, taken));
  EXPECT_TRUE(four.copies.empty());
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  four.cache.check();
}

TEST(PrefixCache, WhatCannotChangeAnyMoreGoesToHostMemory) {
  FourPages four(4);
  four.make_plan();
  const auto pages = four.keep_path(1, 1);
  four.cache.nodes().mark_unsure(pages[0]);
  four.make_plan();
  four.give_up(pages[0]);
  EXPECT_THAT(four.copies, SizeIs(1));
  EXPECT_TRUE(four.cache.tiers().is_on_host(four.find(kNoPage, 1)));
}

TEST(PrefixCache, WhatTheNewestPlanFilledGoesToHostMemoryOnceItHasRun) {
  FourPages four(4);
  four.make_plan();
  const auto pages = four.keep_path(1, 1);
  four.cache.nodes().mark_unsure(pages[0]);
  four.clock.run(1);
  four.give_up(pages[0]);
  EXPECT_THAT(four.copies, SizeIs(1));
}

TEST(PrefixCache, APageThatIsTakenBackIsNotInDoubtForWhoeverHasItNext) {
  FourPages four(4);
  four.make_plan();
  const auto pages = four.keep_path(1, 1);
  four.cache.nodes().mark_unsure(pages[0]);
  four.cache.nodes().take_back(pages[0]);
  four.cache.release(pages);
  const auto next = four.keep_path(2, 1);
  ASSERT_EQ(next, pages);
  four.give_up(next[0]);
  EXPECT_THAT(four.copies, SizeIs(1));
  EXPECT_TRUE(four.cache.tiers().is_on_host(four.find(kNoPage, 2)));
}

TEST(PrefixCache, ForgetsWhatIsInHostMemoryToo) {
  FourPages four(4);
  four.cache.release(four.keep_path(1, 3));
  std::vector<PageId> taken;
  ASSERT_TRUE(four.cache.take(2, taken));
  four.cache.release(taken);
  four.cache.nodes().forget_all();
  EXPECT_EQ(four.cache.tiers().host.taken(), 0);
  EXPECT_EQ(four.find(kNoPage, 1), kNoPage);
  EXPECT_EQ(four.cache.nodes().given_up(), 0U);
  four.cache.check();
}

/// A page, and a tail of two behind it, that a sequence has and leaves.
struct LeftTail : FourPages {
  LeftTail() {
    EXPECT_TRUE(cache.take(3, pages));
    cache.nodes().keep({}, kNoPage, pages[0], Tokens{1, 0});
    PageTails& tails = cache.nodes().tiers().device.tails();
    tails.begin(pages[0], {});
    tails.leave(pages[0], std::span(pages).last(2), [this](std::size_t i) { return text[i]; });
    cache.release(std::span(pages).first(1));
    cache.check();
  }

  const std::vector<Tokens> text{{2, 0}, {3, 0}};
  std::vector<PageId> pages;
};

TEST(PrefixCache, ATailIsIdleWithItsHeadAndGivenUpBeforeIt) {
  LeftTail left;
  EXPECT_EQ(left.cache.free(), 4);
  EXPECT_EQ(left.cache.tiers().device.idle(), 3);
  EXPECT_EQ(left.cache.nodes().kept(), 3);
  EXPECT_EQ(left.find(left.pages[0], 2), kNoPage) << "it has not been read";
  std::vector<PageId> taken;
  ASSERT_TRUE(left.cache.take(2, taken));
  EXPECT_THAT(taken, UnorderedElementsAre(left.pages[2], testing::Not(left.pages[1])));
  EXPECT_EQ(left.cache.references(left.pages[2]), 1);
  left.cache.check();
  ASSERT_TRUE(left.cache.take(2, taken));
  EXPECT_EQ(left.find(kNoPage, 1), kNoPage);
  EXPECT_EQ(left.cache.nodes().given_up(), 3U);
  EXPECT_EQ(left.cache.free(), 0);
}

TEST(PrefixCache, ATailThatIsReadIsLikeAnyPages) {
  LeftTail left;
  left.cache.nodes().tiers().device.read_tail(left.pages[0]);
  EXPECT_EQ(left.find(left.pages[0], 2), left.pages[1]);
  EXPECT_EQ(left.find(left.pages[1], 3), left.pages[2]);
  left.cache.check();
  std::vector<PageId> taken;
  ASSERT_TRUE(left.cache.take(2, taken));
  EXPECT_THAT(taken, UnorderedElementsAre(left.pages[2], testing::Not(left.pages[1])));
  left.cache.check();
}

TEST(PrefixCache, AHeadThatIsUsedAloneLeavesItsTailIdle) {
  LeftTail left;
  left.cache.share(std::span(left.pages).first(1));
  EXPECT_EQ(left.cache.tiers().device.idle(), 2);
  left.cache.check();
  std::vector<PageId> taken;
  ASSERT_TRUE(left.cache.take(3, taken));
  EXPECT_FALSE(left.cache.take(1, taken));
}

TEST(PrefixCache, ForgetsTailsToo) {
  LeftTail left;
  left.cache.nodes().forget_all();
  EXPECT_EQ(left.cache.nodes().kept(), 0);
  EXPECT_EQ(left.cache.free(), 4);
  left.cache.check();
}

TEST(PrefixCache, HasNoTailsWherePagesGoToHostMemory) {
  EXPECT_TRUE(FourPages().cache.has_tails());
  EXPECT_FALSE(FourPages(1).cache.has_tails());
  const PlanClock clock;
  EXPECT_FALSE(PrefixCache(clock, {.pages = 4, .page_tokens = 2}).has_tails());
}

}  // namespace
}  // namespace weft::test
