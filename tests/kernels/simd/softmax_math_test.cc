#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "weft/kernels/sample/portable_exp.h"
#include "weft/tests/kernels/op_fixture.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/tests/kernels/simd/softmax_math_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/softmax_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// Computes in place; the size is a multiple of 16.
void exp_of_all(std::span<float> numbers) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  for (std::size_t i = 0; i < numbers.size(); i += hn::Lanes(d)) {
    hn::StoreU(exp_of_negative(d, hn::LoadU(d, numbers.data() + i)), d, numbers.data() + i);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

HWY_EXPORT(exp_of_all);

class SoftmaxMathTest : public OpTest {};
WEFT_OP_TEST(SoftmaxMathTest);

constexpr float kLeast = -87.33F;  // of which e^x is a normal number

std::vector<float> arguments() {
  std::vector<float> all{0};
  for (float x = -0x1p-30F; x > kLeast; x *= 1.0001F) all.push_back(x);
  all.resize(all.size() / 16 * 16);
  return all;
}

/// The largest error in units of the last place of the true number.
double worst_error(std::span<const float> arguments, std::span<const float> results) {
  double worst = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const double want = std::exp(double{arguments[i]});
    const double unit = std::ldexp(1.0, std::ilogb(want) - 23);
    worst = std::max(worst, std::abs(results[i] - want) / unit);
  }
  return worst;
}

TEST_P(SoftmaxMathTest, IsExactToTwoUnitsInTheLastPlace) {
  const std::vector<float> all = arguments();
  ASSERT_GT(all.size(), 100'000U);
  std::vector<float> results = all;
  HWY_DYNAMIC_DISPATCH(exp_of_all)(results);
  EXPECT_LE(worst_error(all, results), 2);
}

TEST_P(SoftmaxMathTest, KnowsZeroInfinityAndNaN) {
  std::vector<float> edge{0, -0.0F, -kInf, -1e30F, -100, -87.4F, kNaN, -1e-30F};
  edge.resize(16);
  HWY_DYNAMIC_DISPATCH(exp_of_all)(edge);
  for (const std::size_t i : {0U, 1U, 7U}) EXPECT_EQ(edge[i], 1) << i;
  for (const std::size_t i : {2U, 3U, 4U, 5U}) EXPECT_EQ(edge[i], 0) << i;
  EXPECT_TRUE(std::isnan(edge[6]));
}

TEST(PortableExpTest, IsExactToTwoUnitsInTheLastPlace) {
  const std::vector<float> all = arguments();
  std::vector<float> results;
  for (const float x : all) results.push_back(exp_of_negative(x));
  EXPECT_LE(worst_error(all, results), 2);
  EXPECT_EQ(exp_of_negative(-kInf), 0);
  EXPECT_EQ(exp_of_negative(-87.4F), 0);
}

}  // namespace
}  // namespace weft
#endif  // HWY_ONCE
