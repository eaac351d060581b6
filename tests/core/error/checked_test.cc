#include "weft/core/error/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace weft {
namespace {

static_assert(checked_add<std::int64_t>(2, 3) == 5);
static_assert(!checked_multiply<std::uint8_t>(16, 16));

TEST(CheckedTest, AddsUpToTheLargestNumberAndNoFurther) {
  EXPECT_EQ(checked_add<std::int64_t>(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(checked_add<std::int64_t>(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_add<std::int64_t>(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checked_add<std::uint64_t>(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_add<std::uint32_t>(UINT32_MAX - 1, 1), UINT32_MAX);
}

TEST(CheckedTest, MultipliesUpToTheLargestNumberAndNoFurther) {
  EXPECT_EQ(checked_multiply<std::int64_t>(INT64_MAX / 2, 2), INT64_MAX - 1);
  EXPECT_EQ(checked_multiply<std::int64_t>(INT64_MAX / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(checked_multiply<std::int64_t>(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checked_multiply<std::int64_t>(INT64_MIN, 0), 0);
  // The product wraps to a small number: the classic way past a check made too late.
  EXPECT_EQ(checked_multiply<std::uint64_t>((std::uint64_t{1} << 32U) + 1, std::uint64_t{1} << 32U),
            std::nullopt);
}

TEST(CheckedTest, KeepsToTheWidthOfNarrowTypes) {
  EXPECT_EQ(checked_add<std::int8_t>(100, 27), std::int8_t{127});
  EXPECT_EQ(checked_add<std::int8_t>(100, 28), std::nullopt);
  EXPECT_EQ(checked_multiply<std::uint16_t>(256, 256), std::nullopt);
}

}  // namespace
}  // namespace weft
