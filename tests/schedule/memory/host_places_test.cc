#include "weft/schedule/memory/host_places.h"

#include <gtest/gtest.h>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

TEST(HostPlaces, AreNumberedBehindThePagesAndTakenUntilNoneIsFree) {
  HostPlaces places(10, 2);
  EXPECT_EQ(places.oldest(), HostPlaces::kNone);
  EXPECT_EQ(places.take(), 10);
  EXPECT_EQ(places.take(), 11);
  EXPECT_EQ(places.take(), HostPlaces::kNone);
  EXPECT_EQ(places.oldest(), 10);
  places.drop(10);
  EXPECT_EQ(places.oldest(), 11);
  EXPECT_EQ(places.take(), 10);
  EXPECT_EQ(places.taken(), 2);
  places.check();
}

TEST(HostPlaces, OneThatIsHeldIsNotTheOldest) {
  HostPlaces places(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_NE(places.take(), HostPlaces::kNone);
  places.hold(10);
  places.hold(11);
  EXPECT_EQ(places.oldest(), 12);
  places.let_go(10);
  EXPECT_EQ(places.oldest(), 12) << "it counts as taken last";
  places.free_held(11);
  EXPECT_EQ(places.take(), 11);
  places.check();
}

TEST(HostPlaces, TellMisuse) {
  HostPlaces places(10, 3);
  EXPECT_EQ(places.take(), 10);
  WEFT_EXPECT_BUG(places.free_held(10), "not held");
  WEFT_EXPECT_BUG(places.drop(11), "not idle");
  places.hold(10);
  WEFT_EXPECT_BUG(places.check(), "lost");
}

}  // namespace
}  // namespace weft
