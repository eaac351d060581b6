#include "weft/schedule/memory/tiers/host_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

TEST(HostPlaces, HasPlansCopyPagesIntoPlacesAndBack) {
  std::vector<PlanCopy> copies;
  HostPlaces host(10, 1, &copies);
  EXPECT_EQ(host.store(3), 10);
  EXPECT_EQ(host.store(4), kNoPage) << "its place is taken";
  EXPECT_EQ(host.oldest(), 10);
  host.fetch(10, 5);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].from, 3);
  EXPECT_EQ(copies[0].to, 10);
  EXPECT_EQ(copies[1].from, 10);
  EXPECT_EQ(copies[1].to, 5);
  EXPECT_EQ(host.stored(), 1U);
  EXPECT_EQ(host.fetched(), 1U);
}

}  // namespace
}  // namespace weft
