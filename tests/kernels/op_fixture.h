#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"
#include "weft/kernels/simd/simd_target.h"
#include "weft/tests/fixture/expect_bug.h"  // IWYU pragma: export

/// Shared by the tests of ops. Each body runs with every instruction set of this processor, and
/// fails if another one ran.
namespace weft {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

class OpTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    force(GetParam());
    ASSERT_EQ(simd_target(), hwy::TargetName(GetParam()));
  }
  void TearDown() override { force(0); }

 private:
  static void force(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::string target_of(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

// clang-format off
#define WEFT_OP_TEST(Suite) \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(simd_targets()), target_of)
// clang-format on

/// Draws numbers from a seed.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  float operator()(float low = -1, float high = 1) {
    return low + (high - low) * std::generate_canonical<float, 24>(engine_);
  }
  std::int32_t below(std::int32_t limit) {
    return static_cast<std::int32_t>(engine_() % static_cast<std::uint32_t>(limit));
  }
  std::vector<float> numbers(std::size_t count, float low = -1, float high = 1) {
    std::vector<float> all(count);
    for (float& number : all) number = (*this)(low, high);
    return all;
  }

 private:
  std::mt19937 engine_;
};

/// Rows that begin at addresses not aligned to a vector, with NaN between them.
class Table {
 public:
  Table() = default;
  Table(std::int64_t count, std::int64_t width)
      : count_(count),
        width_(width),
        numbers_(static_cast<std::size_t>(count * stride() + kBefore), kNaN) {}
  Table(std::int64_t count, std::int64_t width, Random& random, float low = -1, float high = 1)
      : Table(count, width) {
    for (std::int64_t r = 0; r < count; ++r) {
      for (float& number : row(r)) number = random(low, high);
    }
  }

  [[nodiscard]] Rows rows() { return {numbers_.data() + kBefore, count_, width_, stride()}; }
  [[nodiscard]] std::span<float> row(std::int64_t index) {
    return {rows().row(index), static_cast<std::size_t>(width_)};
  }

  /// Whether what lies between the rows is as it was.
  [[nodiscard]] bool is_untouched_between_rows() const {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const auto column = (static_cast<std::int64_t>(i) - kBefore) % stride();
      if ((column < 0 || column >= width_) && !std::isnan(numbers_[i])) return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kBefore = 1;
  static constexpr std::int64_t kBetween = 3;
  [[nodiscard]] std::int64_t stride() const { return width_ + kBetween; }

  std::int64_t count_ = 0;
  std::int64_t width_ = 0;
  std::vector<float> numbers_;
};

/// Whether each number is within `tolerance` of the expected one; reports the worst.
inline testing::AssertionResult is_close(std::span<const float> got, std::span<const double> want,
                                         double tolerance) {
  if (got.size() != want.size()) return testing::AssertionFailure() << "sizes differ";
  std::size_t worst = 0;
  double distance = -1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double own = std::abs(static_cast<double>(got[i]) - want[i]);
    // NaN is the worst there is.
    if (own <= distance) continue;
    worst = i;
    distance = own;
    if (std::isnan(own)) break;
  }
  if (got.empty() || distance <= tolerance) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "worst at " << worst << ": " << got[worst] << " for "
                                     << want[worst] << ", tolerance " << tolerance;
}

/// All parts of an op, each by a thread of its own.
template <class Op>
void in_parts(int count, const Op& op) {
  std::vector<std::jthread> others;
  for (int index = 1; index < count; ++index) {
    others.emplace_back([&op, index, count] { op(Share{index, count}); });
  }
  op(Share{0, count});
}

}  // namespace weft
