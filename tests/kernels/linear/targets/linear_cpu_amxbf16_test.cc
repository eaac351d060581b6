#include "weft/kernels/linear/targets/linear_cpu_amxbf16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "weft/kernels/linear/linear.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/linear/linear_fixture.h"

namespace weft {
namespace {

using test::RowBuffer;
using test::run;

constexpr std::int64_t kInputs = 1103;  // more than a block of 512, and no whole line
constexpr std::int64_t kOutputs = 37;

float flushed(float number) {
  return std::abs(number) < std::numeric_limits<float>::min() ? std::copysign(0.0F, number)
                                                              : number;
}

/// A sum in the order that linear_cpu_amxbf16.h states.
float sum_in_order(const float* row, const std::uint16_t* weights) {
  constexpr std::int64_t kLine = 2 * amxbf16::kLineWords;
  float sum = 0;
  for (std::int64_t first = 0; first < kInputs; first += kLine) {
    float parts[2] = {0, 0};
    for (std::int64_t i = first; i < std::min(first + kLine, kInputs); ++i) {
      const float input = flushed(from_bf16(to_bf16(flushed(row[i]))));
      float& part = parts[i % 2];
      part = flushed(std::fma(input, flushed(from_bf16(weights[i])), part));
    }
    sum = flushed(sum + flushed(parts[0] + parts[1]));
  }
  return sum;
}

class AmxBf16Test : public testing::Test {
 protected:
  void SetUp() override {
    if (available_cpu_targets().back() != CpuTarget::kAvx512Amx) {
      GTEST_SKIP() << "this processor or system has no AMX";
    }
  }

  /// Weights up to `most`, by powers of two down to `least`.
  void fill(int least, int most) {
    std::mt19937 random(7);
    std::uniform_int_distribution exponent(least, most);
    for (std::uint16_t& weight : weights_) {
      const float number =
          std::ldexp(1.0F + static_cast<float>(random() % 128) / 128, exponent(random));
      weight = to_bf16(random() % 2 == 0 ? number : -number);
    }
    weight_ = PackedWeight::allocate(DType::kBF16, kOutputs, kInputs).value();
    weight_.fill(0, {.data = reinterpret_cast<const std::byte*>(weights_.data()),
                     .dtype = DType::kBF16,
                     .outputs = kOutputs,
                     .inputs = kInputs,
                     .stride_output = kInputs});
  }

  void expect_order(std::int64_t rows) {
    RowBuffer in(rows, kInputs);
    RowBuffer out(rows, kOutputs);
    in.randomize(3);
    run({.in = in.rows(), .weight = &weight_, .out = out.rows()});
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t o = 0; o < kOutputs; ++o) {
        const float expected = sum_in_order(in.rows().row(r), weights_.data() + o * kInputs);
        ASSERT_TRUE(test::same_bits(&out.at(r, o), &expected, 1))
            << "row " << r << " of " << rows << ", output " << o;
      }
    }
  }

  std::vector<std::uint16_t> weights_ =
      std::vector<std::uint16_t>(static_cast<std::size_t>(kInputs * kOutputs));
  PackedWeight weight_;
};

TEST_F(AmxBf16Test, AddsInTheOrderThatItStates) {
  fill(-8, 8);
  for (const std::int64_t rows : {1, 2, 16, 17, 33, 70}) expect_order(rows);
}

TEST_F(AmxBf16Test, TakesNumbersBelowTheLeastNormalOneForZero) {
  fill(-133, -120);
  for (const std::int64_t rows : {1, 33}) expect_order(rows);
}

TEST_F(AmxBf16Test, KeepsWhatIsNotFinite) {
  fill(0, 1);
  RowBuffer in(3, kInputs);
  RowBuffer out(3, kOutputs);
  in.randomize(3);
  in.at(0, kInputs - 1) = std::numeric_limits<float>::quiet_NaN();
  in.at(1, 0) = std::numeric_limits<float>::infinity();
  run({.in = in.rows(), .weight = &weight_, .out = out.rows()});
  for (std::int64_t o = 0; o < kOutputs; ++o) {
    EXPECT_TRUE(std::isnan(out.at(0, o)));
    EXPECT_TRUE(std::isinf(out.at(1, o)));
    EXPECT_TRUE(std::isfinite(out.at(2, o)));
  }
}

TEST_F(AmxBf16Test, GivesTheSameBitsOnAThreadThatHadNoTiles) {
  fill(-8, 8);
  RowBuffer in(20, kInputs);
  RowBuffer here(20, kOutputs);
  RowBuffer there(20, kOutputs);
  in.randomize(5);
  run({.in = in.rows(), .weight = &weight_, .out = here.rows()});
  std::thread([&] { run({.in = in.rows(), .weight = &weight_, .out = there.rows()}); }).join();
  for (std::int64_t r = 0; r < 20; ++r) {
    EXPECT_TRUE(test::same_bits(&here.at(r, 0), &there.at(r, 0), kOutputs)) << r;
  }
}

}  // namespace
}  // namespace weft
