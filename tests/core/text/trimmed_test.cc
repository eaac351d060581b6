#include "weft/core/text/trimmed.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Trimmed, CutsSpacesAndTabsAroundAText) {
  EXPECT_EQ(trimmed(" \ta b\t "), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace weft
