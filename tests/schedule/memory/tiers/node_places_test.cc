#include "weft/schedule/memory/tiers/node_places.h"

#include <gtest/gtest.h>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

TEST(NodePlaces, AreNumberedBehindThePagesAndTakenUntilNoneIsFree) {
  NodePlaces places(10, 2);
  EXPECT_EQ(places.oldest(), kNoPage);
  EXPECT_EQ(places.take(), 10);
  EXPECT_EQ(places.take(), 11);
  EXPECT_EQ(places.take(), kNoPage);
  EXPECT_EQ(places.oldest(), 10);
  places.drop(10);
  EXPECT_EQ(places.oldest(), 11);
  EXPECT_EQ(places.take(), 10);
  EXPECT_EQ(places.taken(), 2);
  places.check();
}

TEST(NodePlaces, OneThatIsHeldIsNotTheOldest) {
  NodePlaces places(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_NE(places.take(), kNoPage);
  places.hold(10);
  places.hold(11);
  EXPECT_EQ(places.oldest(), 12);
  places.let_go(10);
  EXPECT_EQ(places.oldest(), 12) << "it counts as taken last";
  places.drop(11);
  EXPECT_EQ(places.take(), 11);
  places.check();
}

TEST(NodePlaces, TellMisuse) {
  NodePlaces places(10, 3);
  EXPECT_EQ(places.take(), 10);
  WEFT_EXPECT_BUG(places.drop(11), "neither taken nor held");
  WEFT_EXPECT_BUG(places.touch(11), "not idle");
  places.hold(10);
  WEFT_EXPECT_BUG(places.check(), "lost");
}

}  // namespace
}  // namespace weft
