#include "weft/schedule/sequence/under_way.h"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

TEST(UnderWay, CountsResultsThatWillCome) {
  UnderWay under_way;
  under_way.feed(3);
  under_way.expect_result();
  under_way.feed(4);
  under_way.expect_result();
  EXPECT_EQ(under_way.results(), 2);
  EXPECT_EQ(under_way.last_tick(), 4U);
  under_way.take_result();
  EXPECT_EQ(under_way.results(), 1);
}

TEST(UnderWay, ResultsThatAreDisownedHaveAnotherSerialNumber) {
  UnderWay under_way(7);
  under_way.feed(3);
  under_way.expect_result();
  under_way.disown_results();
  EXPECT_EQ(under_way.results(), 0);
  EXPECT_NE(under_way.serial(), 7U);
  EXPECT_EQ(under_way.last_tick(), 3U) << "it is in that plan all the same";
}

TEST(UnderWay, APlanThatIsTakenBackIsForgotten) {
  UnderWay under_way;
  under_way.feed(3);
  under_way.expect_result();
  under_way.take_back();
  EXPECT_EQ(under_way.results(), 0);
  EXPECT_EQ(under_way.last_tick(), 0U);
}

}  // namespace
}  // namespace weft::test
