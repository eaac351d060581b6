#include "weft/schedule/memory/states/state_snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using Pages = std::vector<PageId>;

/// Snapshots of two pages each, of eight pages and four places, which nodes 0 .. 11 may have.
StateSnapshots of_two_pages() { return {2, 8, 4, 12}; }

TEST(StateSnapshots, ANodeGetsASnapshotAndKeepsItUnderAnotherNumber) {
  StateSnapshots snapshots = of_two_pages();
  const NewSnapshot one = snapshots.add(Pages{4, 2});
  EXPECT_TRUE(snapshots.contains(one));
  EXPECT_EQ(snapshots.of(5), StateSnapshots::kNone);
  snapshots.give_to(5, one.slot);
  snapshots.renumber(5, 9);
  EXPECT_EQ(snapshots.of(5), StateSnapshots::kNone);
  EXPECT_EQ(snapshots.of(9), one.slot);
  EXPECT_THAT(snapshots.pages(one.slot), ElementsAre(4, 2));
  snapshots.check();
}

TEST(StateSnapshots, TheOldestIsTheOneMadeOrUsedLongestAgo) {
  StateSnapshots snapshots = of_two_pages();
  const std::int32_t first = snapshots.add(Pages{0, 1}).slot;
  const std::int32_t second = snapshots.add(Pages{2, 3}).slot;
  EXPECT_EQ(snapshots.oldest(), first);
  snapshots.touch(first);
  EXPECT_EQ(snapshots.oldest(), second);
}

TEST(StateSnapshots, ThePagesOfOneOnTheDeviceAreItsOwnUntilItGoes) {
  StateSnapshots snapshots = of_two_pages();
  const std::int32_t one = snapshots.add(Pages{0, 3}).slot;
  EXPECT_TRUE(snapshots.has_page(3));
  EXPECT_FALSE(snapshots.has_page(2));
  snapshots.move_to_host(one, [](PageId page) { return page == 0 ? 8 : 9; });
  EXPECT_FALSE(snapshots.has_page(3));
  EXPECT_EQ(snapshots.on_device(), 0);
  EXPECT_EQ(snapshots.size(), 1);
  EXPECT_THAT(snapshots.pages(one), ElementsAre(8, 9));
}

TEST(StateSnapshots, OneThatIsGivenUpIsNotTakenForAnotherInItsSlot) {
  StateSnapshots snapshots = of_two_pages();
  const NewSnapshot gone = snapshots.add(Pages{0, 1});
  snapshots.drop(gone.slot);
  const NewSnapshot other = snapshots.add(Pages{0, 1});
  ASSERT_EQ(other.slot, gone.slot);
  EXPECT_FALSE(snapshots.contains(gone));
  EXPECT_TRUE(snapshots.contains(other));
}

TEST(StateSnapshots, ThereAreAsManyAsPagesAndPlacesCanHold) {
  StateSnapshots snapshots = of_two_pages();
  for (std::int32_t i = 0; i < 6; ++i) {
    const std::int32_t slot = snapshots.add(Pages{0, 1}).slot;
    snapshots.move_to_host(slot, [](PageId page) { return 8 + page; });
  }
  WEFT_EXPECT_BUG(static_cast<void>(snapshots.add({})), "a snapshot is noted that has no room");
}

TEST(StateSnapshots, WithoutStateNoNodeHasOne) {
  const StateSnapshots snapshots(0, 8, 4, 12);
  EXPECT_EQ(snapshots.of(3), StateSnapshots::kNone);
  EXPECT_FALSE(snapshots.has_page(3));
  EXPECT_EQ(snapshots.size(), 0);
}

}  // namespace
}  // namespace weft
