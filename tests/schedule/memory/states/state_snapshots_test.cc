#include "weft/schedule/memory/states/state_snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using Pages = std::vector<PageId>;

/// Snapshots of two pages each, of eight pages and four places, which nodes 0 .. 11 may have.
struct OfTwoPages {
  explicit OfTwoPages(std::int32_t each = 2) : snapshots(each, tiers) {}

  /// Makes a snapshot in two free pages: in a new one, the first two.
  NewSnapshot add() {
    Pages pages;
    EXPECT_TRUE(tiers.device.pool().take(2, pages));
    return snapshots.add(pages);
  }

  std::vector<PlanCopy> copies;
  PrefixTree tree{12, 1};
  PageTiers tiers{.device = {8, tree, true}, .host = {8, 4, &copies}, .hollow = {12, 0}};
  StateSnapshots snapshots;
};

TEST(StateSnapshots, ANodeGetsASnapshotAndKeepsItUnderAnotherNumber) {
  OfTwoPages two;
  StateSnapshots& snapshots = two.snapshots;
  const NewSnapshot one = two.add();
  EXPECT_TRUE(snapshots.contains(one));
  EXPECT_EQ(snapshots.of(5), StateSnapshots::kNone);
  snapshots.give(5, one);
  snapshots.renumber(5, 9);
  EXPECT_EQ(snapshots.of(5), StateSnapshots::kNone);
  EXPECT_EQ(snapshots.of(9), one.slot);
  EXPECT_THAT(snapshots.pages(one.slot), ElementsAre(0, 1));
  snapshots.check();
}

TEST(StateSnapshots, ANodeKeepsTheSnapshotThatItHas) {
  OfTwoPages two;
  const NewSnapshot first = two.add();
  two.snapshots.give(5, first);
  const NewSnapshot second = two.add();
  two.snapshots.give(5, second);
  EXPECT_EQ(two.snapshots.of(5), first.slot);
  EXPECT_FALSE(two.snapshots.contains(second));
  EXPECT_EQ(two.tiers.device.pool().free(), 6) << "the new one's pages are free";
}

TEST(StateSnapshots, TheOldestIsTheOneMadeOrUsedLongestAgo) {
  OfTwoPages two;
  const std::int32_t first = two.add().slot;
  const std::int32_t second = two.add().slot;
  EXPECT_EQ(two.snapshots.oldest(), first);
  two.snapshots.touch(first);
  EXPECT_EQ(two.snapshots.oldest(), second);
}

TEST(StateSnapshots, ThePagesOfOneOnTheDeviceAreItsOwnUntilItGoesToHostMemory) {
  OfTwoPages two;
  const std::int32_t one = two.add().slot;
  EXPECT_TRUE(two.snapshots.has_page(1));
  EXPECT_FALSE(two.snapshots.has_page(2));
  two.snapshots.move_to_host(one);
  EXPECT_FALSE(two.snapshots.has_page(1));
  EXPECT_EQ(two.snapshots.on_device(), 0);
  EXPECT_EQ(two.snapshots.size(), 1);
  EXPECT_THAT(two.snapshots.pages(one), ElementsAre(8, 9));
  EXPECT_EQ(two.tiers.device.pool().free(), 8);
  EXPECT_THAT(two.copies, SizeIs(2));
  two.snapshots.drop(one);
  EXPECT_EQ(two.tiers.host.free(), 4);
}

TEST(StateSnapshots, OneThatIsGivenUpIsNotTakenForAnotherInItsSlot) {
  OfTwoPages two;
  StateSnapshots& snapshots = two.snapshots;
  const NewSnapshot gone = two.add();
  snapshots.drop(gone);
  const NewSnapshot other = two.add();
  ASSERT_EQ(other.slot, gone.slot);
  EXPECT_FALSE(snapshots.contains(gone));
  EXPECT_TRUE(snapshots.contains(other));
}

TEST(StateSnapshots, ThereAreAsManyAsPagesAndPlacesCanHold) {
  OfTwoPages two;
  for (int i = 0; i < 2; ++i) two.snapshots.move_to_host(two.add().slot);
  for (int i = 0; i < 4; ++i) static_cast<void>(two.add());
  EXPECT_EQ(two.snapshots.size(), 6);
  WEFT_EXPECT_BUG(static_cast<void>(two.snapshots.add({})), "a snapshot is noted that has no room");
}

TEST(StateSnapshots, WithoutStateNoNodeHasOne) {
  const OfTwoPages none(0);
  const StateSnapshots& snapshots = none.snapshots;
  EXPECT_EQ(snapshots.of(3), StateSnapshots::kNone);
  EXPECT_FALSE(snapshots.has_page(3));
  EXPECT_EQ(snapshots.size(), 0);
}

}  // namespace
}  // namespace weft
