#include "weft/sampling/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weft::sampling {
namespace {

TEST(PortableMath, LogarithmIsThatOfTheLibrary) {
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 20000; ++i) {
    const double x = i % 2 == 0 ? std::pow(10, exponent(random)) : 0.5 + exponent(random) * 1e-3;
    EXPECT_NEAR(portable_log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_log(0), -std::numeric_limits<double>::infinity());
}

TEST(PortableMath, ExponentialIsThatOfTheLibrary) {
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> range(-700, 700);
  for (int i = 0; i < 20000; ++i) {
    const double x = i % 2 == 0 ? range(random) : range(random) * 1e-3;
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-15) << x;
  }
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-1000), 0);
  EXPECT_EQ(portable_exp(1000), std::numeric_limits<double>::infinity());
}

TEST(PortableMath, PowersOfZeroAndOneAreExact) {
  EXPECT_EQ(portable_pow(0, 2), 0);
  EXPECT_EQ(portable_pow(0, 0), 1);
  EXPECT_EQ(portable_pow(7, 0), 1);
  EXPECT_EQ(portable_pow(1, 33), 1);
  EXPECT_NEAR(portable_pow(7, 1), 7, 1e-14);
  EXPECT_NEAR(portable_pow(2, -3), 0.125, 1e-15);
}

}  // namespace
}  // namespace weft::sampling
