#include "weft/config/edit_distance.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(EditDistanceTest, CountsLettersPutInLeftOutAndChanged) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("rows", "rows"), 0U);
  EXPECT_EQ(edit_distance("", "rows"), 4U);
  EXPECT_EQ(edit_distance("rows", ""), 4U);
  EXPECT_EQ(edit_distance("rows", "row"), 1U);
  EXPECT_EQ(edit_distance("rows", "crows"), 1U);
  EXPECT_EQ(edit_distance("rows", "rots"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("sunday", "saturday"), 3U);
}

TEST(EditDistanceTest, LooksAtTheBeginningOfLongNamesOnly) {
  const std::string same(64, 'a');
  EXPECT_EQ(edit_distance(same + "b", same + std::string(1'000'000, 'c')), 0U);
  EXPECT_EQ(edit_distance(std::string(64, 'a'), std::string(100, 'b')), 64U);
}

}  // namespace
}  // namespace weft
