#include "weft/schedule/memory/idle_pages.h"

#include <gtest/gtest.h>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

TEST(IdlePages, AreAListByTheTimeOfLeaving) {
  IdlePages idle(4);
  for (const PageId page : {2, 0, 3}) idle.add(page);
  EXPECT_EQ(idle.oldest(), 2);
  idle.remove(0);
  EXPECT_FALSE(idle.contains(0));
  idle.remove(2);
  EXPECT_EQ(idle.oldest(), 3);
  idle.add(2);
  EXPECT_EQ(idle.oldest(), 3);
  EXPECT_EQ(idle.size(), 2);
  idle.add_before(0, 3);
  EXPECT_EQ(idle.oldest(), 0);
  idle.add_before(1, 2);
  idle.remove(0);
  idle.remove(3);
  EXPECT_EQ(idle.oldest(), 1);
  idle.remove(1);
  WEFT_EXPECT_BUG(idle.add(2), "was idle");
  WEFT_EXPECT_BUG(idle.add_before(1, 3), "before none");
  WEFT_EXPECT_BUG(idle.remove(1), "not idle");
}

}  // namespace
}  // namespace weft
