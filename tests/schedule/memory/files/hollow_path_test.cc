#include "weft/schedule/memory/files/hollow_path.h"

#include <gtest/gtest.h>

#include <vector>

#include "weft/tests/schedule/memory/prefix/four_pages.h"

namespace weft::test {
namespace {

TEST(HollowPath, HollowNodesLeadToWhatComesFromElsewhere) {
  FourPages four(0, 4);
  HollowPath path(four.cache.nodes());
  std::vector<PageId> pages;
  ASSERT_TRUE(four.cache.take(1, pages));
  const Tokens text{1, 0, 2, 0, 3, 0};
  path.prepare({}, text);
  const PageId first = path.lead_to({}, kNoPage, Tokens{1, 0});
  const PageId second = path.lead_to({}, first, Tokens{2, 0});
  EXPECT_EQ(path.lead_to({}, kNoPage, Tokens{1, 0}), first) << "once";
  four.cache.nodes().keep({}, second, pages[0], Tokens{3, 0});
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 2);
  EXPECT_EQ(four.find(second, 3), pages[0]);
  four.cache.check();
}

TEST(HollowPath, APathIsPreparedByForgettingWhatIsNotOfIt) {
  FourPages four(0, 3);
  HollowPath path(four.cache.nodes());
  const auto own = four.keep_path(1, 2);
  const auto other = four.keep_path(2, 2);
  four.give_up(own[0]);
  four.give_up(other[0]);
  path.prepare({}, Tokens{1, 0, 4, 0, 5, 0});
  EXPECT_EQ(four.find(kNoPage, 2), kNoPage) << "though it is the newer one";
  const PageId first = path.lead_to({}, kNoPage, Tokens{1, 0});
  EXPECT_EQ(four.find(first, 1), own[1]);
  const PageId second = path.lead_to({}, first, Tokens{4, 0});
  four.cache.nodes().keep({}, second, other[0], Tokens{5, 0});
  EXPECT_EQ(four.cache.tiers().hollow.taken(), 2);
  four.cache.check();
}

TEST(HollowPath, WhereNoNodeMayBeHollowNothingLeadsAnywhere) {
  FourPages four;
  HollowPath path(four.cache.nodes());
  path.prepare({}, Tokens{1, 0, 2, 0});
  EXPECT_EQ(path.lead_to({}, kNoPage, Tokens{1, 0}), kNoPage);
  const auto pages = four.keep_path(1, 1);
  EXPECT_EQ(path.lead_to({}, kNoPage, Tokens{1, 0}), pages[0]);
}

}  // namespace
}  // namespace weft::test
