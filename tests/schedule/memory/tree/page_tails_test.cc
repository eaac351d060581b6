#include "weft/schedule/memory/tree/page_tails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using Pages = std::vector<PageId>;
using Tokens = std::vector<TokenId>;

/// Four pages of two tokens; pages 0 and 3 are in the tree.
struct TwoHeads {
  TwoHeads() {
    for (const PageId head : {0, 3}) tree.insert({}, kNoPage, head, Tokens{head, head});
  }
  void leave(PageId head, const Pages& pages) {
    tails.leave(head, pages, [&](std::size_t i) { return Tokens{pages[i], 7}; });
  }

  PrefixTree tree{4, 2};
  PageTails tails{tree, 4};
};

TEST(PageTails, AnIdleTailIsTakenFromItsEndOn) {
  TwoHeads two;
  two.tails.begin(0, {});
  two.leave(0, {1, 2});
  EXPECT_EQ(two.tails.idle(), 2);
  EXPECT_EQ(two.tails.before(1), 0);
  EXPECT_EQ(two.tails.pop(0), 2);
  EXPECT_FALSE(two.tails.is_idle(2));
  EXPECT_TRUE(two.tails.has(0));
  EXPECT_EQ(two.tails.pop(0), 1);
  EXPECT_FALSE(two.tails.has(0)) << "nothing continues the head";
  EXPECT_EQ(two.tails.idle(), 0);
}

TEST(PageTails, AllPagesAreTakenInTheOrderOfTheirTokens) {
  TwoHeads two;
  two.tails.begin(0, {});
  two.leave(0, {2, 1});
  EXPECT_THAT(two.tails.take_all(0), ElementsAre(2, 1));
  EXPECT_FALSE(two.tails.has(0));
  EXPECT_THAT(two.tree.tokens(2), ElementsAre(2, 7)) << "they were noted when it was left";
}

TEST(PageTails, TellMisuse) {
  TwoHeads two;
  two.tails.begin(0, {});
  two.leave(0, {1, 2});
  WEFT_EXPECT_BUG(two.leave(0, {1, 2}), "a second tail");
  WEFT_EXPECT_BUG(two.leave(3, {1, 2}), "in two tails");
  WEFT_EXPECT_BUG(two.tails.pop(3), "has none");
}

}  // namespace
}  // namespace weft
