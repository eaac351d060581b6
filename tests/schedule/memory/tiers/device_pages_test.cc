#include "weft/schedule/memory/tiers/device_pages.h"

#include <gtest/gtest.h>

#include <vector>

#include "weft/schedule/memory/tiers/page_tiers.h"

namespace weft {
namespace {

using Pages = std::vector<PageId>;
using Tokens = std::vector<TokenId>;

/// Four pages of a token, of which a table has 0 .. 2. Pages 0 and 1 are kept, one behind the
/// other.
struct KeptPages {
  KeptPages() {
    EXPECT_TRUE(tiers.device.pool().take(3, table));
    for (const PageId page : {0, 1}) {
      tree.insert({}, page - 1, page, Tokens{page});
      tiers.device.pool().share({&page, 1});
    }
  }

  PrefixTree tree{8, 1};
  PageTiers tiers{.device = {4, tree, true}, .host = {4, 2, nullptr}, .hollow = {6, 2}};
  Pages table;
};

TEST(DevicePages, KeptOnesAreIdleOnceNobodyHasThemAndTheLastIsTheOldest) {
  KeptPages kept;
  DevicePages& device = kept.tiers.device;
  EXPECT_EQ(device.oldest(), kNoPage);
  device.release(kept.table);
  EXPECT_EQ(device.idle(), 2);
  EXPECT_EQ(device.pool().free(), 2) << "page 2 is not kept";
  EXPECT_EQ(device.oldest(), 1);
  device.touch(1);
  EXPECT_EQ(device.oldest(), 0);
  device.hold(0);
  EXPECT_EQ(device.oldest(), 1);
  device.touch(0);
  EXPECT_FALSE(device.is_idle(0)) << "it is in use";
  device.let_go(0);
  EXPECT_TRUE(device.is_idle(0));
}

TEST(DevicePages, OneThatIsDroppedIsFreeUnlessATableHasIt) {
  KeptPages kept;
  DevicePages& device = kept.tiers.device;
  device.drop(1);
  EXPECT_EQ(device.pool().references(1), 1);
  kept.tree.erase(1);
  device.release(kept.table);
  device.drop(0);
  EXPECT_EQ(device.pool().free(), 4);
  EXPECT_EQ(device.idle(), 0);
}

TEST(PageTiers, ANodesNumberSaysInWhichTierItIs) {
  KeptPages kept;
  EXPECT_EQ(&kept.tiers.of(3), &kept.tiers.device);
  EXPECT_EQ(&kept.tiers.of(4), &kept.tiers.host);
  EXPECT_TRUE(kept.tiers.is_on_host(5));
  EXPECT_EQ(&kept.tiers.of(6), &kept.tiers.hollow);
  EXPECT_FALSE(kept.tiers.is_on_host(6));
  EXPECT_EQ(kept.tiers.others(), 4);
}

}  // namespace
}  // namespace weft
