#include "weft/core/text/hex_value.h"

#include <gtest/gtest.h>

#include <string_view>

namespace weft {
namespace {

TEST(HexValue, IsThatOfEveryDigit) {
  constexpr std::string_view kSmall = "0123456789abcdef";
  constexpr std::string_view kLarge = "0123456789ABCDEF";
  for (std::size_t i = 0; i < kSmall.size(); ++i) {
    EXPECT_EQ(hex_value(kSmall[i]), static_cast<int>(i));
    EXPECT_EQ(hex_value(kLarge[i]), static_cast<int>(i));
  }
}

TEST(HexValue, IsNoneOfWhatIsNoDigit) {
  for (const char c : {'/', ':', '@', 'G', '`', 'g', '\0', '\x10', '\xFF', ' '}) {
    EXPECT_EQ(hex_value(c), -1) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace weft
