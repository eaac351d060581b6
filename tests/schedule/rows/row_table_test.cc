#include "weft/schedule/rows/row_table.h"

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

class RowTableTest : public testing::Test {
 protected:
  /// Takes a row for each of the sequences.
  static std::unique_ptr<Group> join(RowTable& rows, std::int32_t sequences) {
    auto group = make_group({.sequences = sequences});
    for (std::int32_t i = 0; i < sequences; ++i) {
      rows.take(*group, i);
      group->sequences[static_cast<std::size_t>(i)].fresh = false;
    }
    return group;
  }
};

TEST_F(RowTableTest, GivesTheRowsOneBehindTheOther) {
  RowTable rows(4);
  const auto group = join(rows, 3);
  for (std::int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(group->sequences[static_cast<std::size_t>(i)].row, i);
    EXPECT_EQ(rows.at(i).group, group.get());
    EXPECT_EQ(&rows.sequence_in(i), &group->sequences[static_cast<std::size_t>(i)]);
  }
  EXPECT_TRUE(rows.is_free(3));
  EXPECT_EQ(rows.free(), 1);
  EXPECT_EQ(rows.region(), (RowRegion{0, 3}));
}

TEST_F(RowTableTest, GivesAHoleOfTheRegionBeforeARowBehindIt) {
  RowTable rows(4);
  const auto group = join(rows, 3);
  rows.release(group->sequences[1]);
  const auto other = join(rows, 1);
  EXPECT_EQ(other->sequences[0].row, 1);
  EXPECT_EQ(rows.region(), (RowRegion{0, 3}));
}

TEST_F(RowTableTest, GivesTheRowBeforeTheRegionWhereNoneIsBehindIt) {
  RowTable rows(3);
  const auto group = join(rows, 3);
  rows.release(group->sequences[0]);
  EXPECT_THAT(rows.compact(), IsEmpty());
  ASSERT_EQ(rows.region(), (RowRegion{1, 2}));
  const auto other = join(rows, 1);
  EXPECT_EQ(other->sequences[0].row, 0);
  EXPECT_EQ(rows.region(), (RowRegion{0, 3}));
}

TEST_F(RowTableTest, RefusesToGiveMoreRowsThanThereAre) {
  RowTable rows(2);
  const auto group = join(rows, 2);
  const auto other = make_group({});
  WEFT_EXPECT_BUG(rows.take(*other, 0), "none is free");
}

TEST_F(RowTableTest, FillsHolesByTheCheapestMovesAndTellsTheSequences) {
  RowTable rows(4);
  const auto group = join(rows, 4);
  group->sequences[3].table.pages = {1, 2};
  rows.release(group->sequences[0]);
  rows.release(group->sequences[1]);
  rows.release(group->sequences[2]);
  const auto other = join(rows, 1);  // in row 0, far from row 3
  ASSERT_EQ(other->sequences[0].row, 0);
  EXPECT_THAT(rows.compact(), ElementsAre(PlanMove{0, 2}));  // fewer pages than the other
  EXPECT_EQ(other->sequences[0].row, 2);
  EXPECT_EQ(&rows.sequence_in(2), other->sequences.data());
  EXPECT_TRUE(rows.is_free(0));
  EXPECT_EQ(rows.region(), (RowRegion{2, 2}));
  EXPECT_EQ(rows.moved(), 1U);
  const std::array<Group*, 2> all{group.get(), other.get()};
  rows.check(all);
}

TEST_F(RowTableTest, MovesARowThatHasNotBegunRatherThanOneThatHas) {
  RowTable rows(3);
  const auto group = join(rows, 3);
  rows.release(group->sequences[1]);
  group->sequences[2].fresh = true;
  group->sequences[2].table.pages = {1, 2, 3, 4};  // taken, and nothing in them yet
  EXPECT_THAT(rows.compact(), ElementsAre(PlanMove{2, 1}));
}

TEST_F(RowTableTest, CountsWhatChangesAndNothingElse) {
  RowTable rows(2);
  const auto group = join(rows, 1);
  const std::uint64_t joined = rows.changes();
  rows.set_decodes(0, true);
  EXPECT_TRUE(rows.at(0).decodes);
  EXPECT_EQ(rows.changes(), joined + 1);
  rows.set_decodes(0, true);
  EXPECT_EQ(rows.changes(), joined + 1);
  rows.release(group->sequences[0]);
  EXPECT_EQ(rows.changes(), joined + 2);
  EXPECT_EQ(rows.releases(), 1U);
  rows.release(group->sequences[0]);  // has no row
  EXPECT_EQ(rows.changes(), joined + 2);
  EXPECT_EQ(rows.releases(), 1U);
}

TEST_F(RowTableTest, FindsASequenceThatStandsInAnothersRow) {
  RowTable rows(2);
  const auto group = join(rows, 2);
  const std::array<Group*, 1> all{group.get()};
  rows.check(all);
  std::swap(group->sequences[0].row, group->sequences[1].row);
  WEFT_EXPECT_BUG(rows.check(all), "another's row");
}

TEST_F(RowTableTest, FindsARowThatNobodyHas) {
  RowTable rows(2);
  const auto group = join(rows, 2);
  group->sequences[1].row = -1;
  const std::array<Group*, 1> all{group.get()};
  WEFT_EXPECT_BUG(rows.check(all), "lost");
}

}  // namespace
}  // namespace weft::test
