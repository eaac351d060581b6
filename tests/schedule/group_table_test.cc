#include "weft/schedule/group_table.h"

#include <gtest/gtest.h>

#include <memory>

#include "weft/tests/fixture/expect_bug.h"
#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

TEST(GroupTable, KeepsAGroupUntilItHasEnded) {
  GroupTable table;
  Group& group = table.add(make_group({}));
  table.forget_if_possible(group);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.all().front(), &group);
  group.done = true;
  table.forget_if_possible(group);
  EXPECT_EQ(table.size(), 0U);
}

TEST(GroupTable, KeepsAGroupThatHasEndedUntilItsResultsHaveCome) {
  GroupTable table;
  Group& group = table.add(make_group({}));
  group.in_flight = 2;
  group.done = true;
  table.forget_if_possible(group);
  table.settle_result(group);
  ASSERT_EQ(table.size(), 1U);
  table.settle_result(group);
  EXPECT_EQ(table.size(), 0U);
}

TEST(GroupTable, FindsAResultThatNobodyExpects) {
  GroupTable table;
  Group& group = table.add(make_group({}));
  WEFT_EXPECT_BUG(table.settle_result(group), "expects none");
}

}  // namespace
}  // namespace weft::test
