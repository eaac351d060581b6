#include "weft/kernels/simd/narrow_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weft {
namespace {

/// The number that 16 bits stand for, by the definition of the format.
double f16_by_definition(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(NarrowFloatTest, WidensEveryHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double want = f16_by_definition(half);
    const float got = from_f16(half);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got),
                std::bit_cast<std::uint32_t>(static_cast<float>(want)))
          << bits;
      EXPECT_EQ(to_f16(got), half);
    }
  }
}

TEST(NarrowFloatTest, RoundsToTheNearestHalfAndTiesToEven) {
  for (std::uint16_t low = 0; low < 0x7bff; ++low) {
    const float below = from_f16(low);
    const float above = from_f16(static_cast<std::uint16_t>(low + 1));
    const float middle = (below + above) / 2;  // exact: a half has 13 bits fewer
    const std::uint16_t even = low + (low & 1);
    EXPECT_EQ(to_f16(middle), even) << low;
    EXPECT_EQ(to_f16(std::nextafter(middle, below)), low) << low;
    EXPECT_EQ(to_f16(std::nextafter(middle, above)), low + 1) << low;
    EXPECT_EQ(to_f16(-middle), even | 0x8000) << low;
  }
}

TEST(NarrowFloatTest, KnowsWhatAHalfCannotHold) {
  EXPECT_EQ(to_f16(65519.996F), 0x7bff);
  EXPECT_EQ(to_f16(65520.0F), 0x7c00);
  EXPECT_EQ(to_f16(1e30F), 0x7c00);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_TRUE(std::isnan(from_f16(to_f16(std::nanf("")))));
  EXPECT_EQ(to_f16(1e-30F), 0);
}

TEST(NarrowFloatTest, RoundsToTheNearestBrainFloatAndTiesToEven) {
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808000U)), 0x3f80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808001U)), 0x3f81);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f818000U)), 0x3f82);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x7f7fffffU)), 0x7f80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x80000001U)), 0x8000);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7fffffffU)))));
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    EXPECT_EQ(to_bf16(from_bf16(static_cast<std::uint16_t>(bits))), bits);
  }
}

/// The number that 8 bits stand for, by the definition of the format.
double e4m3_by_definition(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  if ((bits & 0x7f) == 0x7f) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -9);
  return sign * std::ldexp(8 + fraction, exponent - 10);
}

TEST(NarrowFloatTest, WidensEveryE4M3) {
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    const auto byte = static_cast<std::uint8_t>(bits);
    const double want = e4m3_by_definition(byte);
    const float got = from_e4m3(byte);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_EQ(to_e4m3(got) & 0x7f, 0x7f);
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got),
                std::bit_cast<std::uint32_t>(static_cast<float>(want)))
          << bits;
      EXPECT_EQ(to_e4m3(got), byte);
    }
  }
}

TEST(NarrowFloatTest, RoundsToTheNearestE4M3AndTiesToEven) {
  for (std::uint8_t low = 0; low < 0x7e; ++low) {
    const float below = from_e4m3(low);
    const float above = from_e4m3(static_cast<std::uint8_t>(low + 1));
    const float middle = (below + above) / 2;
    const auto even = static_cast<std::uint8_t>(low + (low & 1));
    EXPECT_EQ(to_e4m3(middle), even) << int{low};
    EXPECT_EQ(to_e4m3(std::nextafter(middle, below)), low) << int{low};
    EXPECT_EQ(to_e4m3(std::nextafter(middle, above)), low + 1) << int{low};
    EXPECT_EQ(to_e4m3(-middle), even | 0x80) << int{low};
  }
}

TEST(NarrowFloatTest, KnowsWhatAnE4M3CannotHold) {
  EXPECT_EQ(to_e4m3(464.0F), 0x7e) << "half way to what would be the next one";
  EXPECT_EQ(to_e4m3(464.00003F), 0x7f);
  EXPECT_EQ(to_e4m3(-1e30F), 0xff);
  EXPECT_EQ(to_e4m3(std::numeric_limits<float>::infinity()), 0x7f);
  EXPECT_EQ(to_e4m3(1e-30F), 0);
}

}  // namespace
}  // namespace weft
