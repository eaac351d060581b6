#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "weft/kernels/linear/linear.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/linear/linear_fixture.h"

namespace weft {
namespace {

using test::kNan;
using test::RowBuffer;
using test::run;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Ties to both sides, just above a tie, numbers that are none, and many others.
std::vector<float> numbers_to_round() {
  std::vector<float> numbers = {
      1 + 0x1p-8F, 1 + 0x3p-8F, 1 + 0x1p-8F + 0x1p-23F,           -1 - 0x1p-8F, kInfinity,
      -kInfinity,  kNan,        std::numeric_limits<float>::max()};
  std::mt19937 random(71);
  std::normal_distribution<float> normal;
  while (numbers.size() < 100) numbers.push_back(normal(random));
  return numbers;
}

/// Each number in a row of zeros, at each place in turn, by weights of 1.
void expect_rounded(const std::vector<float>& numbers, std::int64_t inputs) {
  const std::vector<float> ones(static_cast<std::size_t>(inputs), 1);
  auto weight = PackedWeight::allocate(DType::kBF16, 1, inputs);
  ASSERT_TRUE(weight);
  weight->fill(0, {.data = reinterpret_cast<const std::byte*>(ones.data()),
                   .dtype = DType::kF32,
                   .outputs = 1,
                   .inputs = inputs,
                   .stride_output = inputs});
  const auto count = static_cast<std::int64_t>(numbers.size());
  RowBuffer in(count, inputs);
  RowBuffer out(count, 1);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t i = 0; i < inputs; ++i) in.at(r, i) = 0;
    in.at(r, r % inputs) = numbers[static_cast<std::size_t>(r)];
  }
  run({.in = in.rows(), .weight = &*weight, .out = out.rows()});
  for (std::int64_t r = 0; r < count; ++r) {
    const float expected = from_bf16(to_bf16(numbers[static_cast<std::size_t>(r)]));
    const bool same = std::isnan(expected) ? std::isnan(out.at(r, 0)) : out.at(r, 0) == expected;
    EXPECT_TRUE(same) << out.at(r, 0) << " for " << expected << ", row " << r << " of " << inputs
                      << " inputs on " << to_string(cpu_target());
  }
}

TEST(Bf16LinearTest, RoundsRowsToTheNearestBf16OnEveryTargetThatMultipliesIt) {
  std::vector<CpuTarget> targets;
  std::ranges::copy_if(available_cpu_targets(), std::back_inserter(targets),
                       [](CpuTarget target) { return multiplies_bf16(target); });
  if (targets.empty()) GTEST_SKIP() << "this processor does not multiply bf16";
  for (const CpuTarget target : targets) {
    const ForcedCpuTarget forced(target);
    for (const std::int64_t inputs : {1, 2, 5, 7}) expect_rounded(numbers_to_round(), inputs);
  }
}

}  // namespace
}  // namespace weft
