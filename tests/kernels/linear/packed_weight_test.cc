#include "weft/kernels/linear/packed_weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/kernel_error.h"
#include "weft/kernels/linear/turned_blocks.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"

namespace weft {
namespace {

constexpr DType kPackedTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

PackedWeight allocate(DType dtype, std::int64_t outputs, std::int64_t inputs, bool gated = false) {
  auto weight = PackedWeight::allocate(dtype, outputs, inputs, gated);
  EXPECT_TRUE(weight) << to_string(weight.error());
  return std::move(*weight);
}

/// Returns the weight's number for (output, input), found by the layout's description alone.
double number_at(const PackedWeight& weight, std::int64_t output, std::int64_t input) {
  const PackedLayout& layout = weight.layout();
  const std::byte* panel = weight.data() + layout.panel_of(output) * layout.panel_bytes();
  const std::int64_t lane = layout.lane_of(output);
  const std::byte* at = panel + layout.offset(lane, input);
  std::uint16_t bits = 0;
  if (weight.dtype() == DType::kF32) {
    float value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (weight.dtype() == DType::kQ8_0) {
    std::memcpy(&bits, panel + layout.scale_offset(lane, input), sizeof(bits));
    return static_cast<double>(from_f16(bits)) * static_cast<std::int8_t>(*at);
  }
  std::memcpy(&bits, at, sizeof(bits));
  return weight.dtype() == DType::kBF16 ? from_bf16(bits) : from_f16(bits);
}

/// The nearest number of the type, by the distance in float64.
double nearest(DType dtype, double value) {
  if (dtype == DType::kF32) return static_cast<float>(value);
  if (value == 0) return value;
  const int digits = dtype == DType::kBF16 ? 7 : 10;
  const int least = dtype == DType::kBF16 ? -126 : -14;
  const int unit = std::max(std::ilogb(value), least) - digits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

void expect_holds(const PackedWeight& weight, const RandomMatrix& matrix, std::int64_t first_output,
                  std::int64_t first_input) {
  for (std::int64_t o = 0; o < matrix.outputs(); ++o) {
    for (std::int64_t i = 0; i < matrix.inputs(); ++i) {
      const double expected = weight.dtype() == DType::kQ8_0
                                  ? matrix.at(o, i)
                                  : nearest(weight.dtype(), matrix.at(o, i));
      ASSERT_EQ(number_at(weight, first_output + o, first_input + i), expected)
          << to_string(weight.dtype()) << " from " << to_string(matrix.dtype()) << " output " << o
          << " input " << i;
    }
  }
}

/// Counts the bytes of padding that are not zero.
std::size_t count_nonzero_padding(PackedWeight& weight) {
  const PackedLayout& layout = weight.layout();
  std::vector<std::byte> copy(weight.data(), weight.data() + weight.bytes());
  const std::int64_t outputs = layout.outputs * (layout.gated ? 2 : 1);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const auto panel = static_cast<std::size_t>(layout.panel_of(o) * layout.panel_bytes());
    for (std::int64_t i = 0; i < layout.inputs; ++i) {
      std::memset(copy.data() + panel + layout.offset(layout.lane_of(o), i), 0,
                  static_cast<std::size_t>(layout.element_bytes()));
      if (layout.dtype == DType::kQ8_0) {
        std::memset(copy.data() + panel + layout.scale_offset(layout.lane_of(o), i), 0, 2);
      }
    }
  }
  return copy.size() - static_cast<std::size_t>(std::ranges::count(copy, std::byte{0}));
}

class PackedWeightTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

TEST_P(PackedWeightTest, HoldsEveryTypeConvertedFromEveryOther) {
  for (const DType to : kPackedTypes) {
    for (const DType from : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
      if (to == DType::kQ8_0 && from != DType::kQ8_0) continue;
      for (const auto& [outputs, inputs] :
           {std::pair(16, 32), std::pair(37, 160), std::pair(1, 64), std::pair(33, 288)}) {
        const RandomMatrix matrix(from, outputs, inputs, 7);
        PackedWeight weight = allocate(to, outputs, inputs);
        weight.fill(0, matrix.source());
        expect_holds(weight, matrix, 0, 0);
        EXPECT_EQ(count_nonzero_padding(weight), 0U);
      }
    }
  }
}

TEST_P(PackedWeightTest, HoldsOddSizes) {
  for (const DType to : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const std::int64_t outputs : {1, 2, 15, 16, 17, 31, 33, 70}) {
      for (const std::int64_t inputs : {1, 2, 3, 31, 33, 127, 129, 131}) {
        const RandomMatrix matrix(DType::kF32, outputs, inputs, 3);
        PackedWeight weight = allocate(to, outputs, inputs);
        weight.fill(0, matrix.source());
        expect_holds(weight, matrix, 0, 0);
        EXPECT_EQ(count_nonzero_padding(weight), 0U) << outputs << " x " << inputs;
      }
    }
  }
}

TEST_P(PackedWeightTest, TakesATransposedSource) {
  for (const DType from : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const DType to : {DType::kF32, DType::kF16, DType::kBF16}) {
      constexpr std::int64_t kOutputs = 45;
      constexpr std::int64_t kInputs = 139;
      const RandomMatrix stored(from, kInputs, kOutputs, 11);  // [K, N] in the file
      PackedWeight weight = allocate(to, kOutputs, kInputs);
      weight.fill(0, {.data = stored.data(),
                      .dtype = from,
                      .outputs = kOutputs,
                      .inputs = kInputs,
                      .stride_output = 1,
                      .stride_input = kOutputs});
      for (std::int64_t o = 0; o < kOutputs; ++o) {
        for (std::int64_t i = 0; i < kInputs; ++i) {
          ASSERT_EQ(number_at(weight, o, i), nearest(to, stored.at(i, o))) << o << ", " << i;
        }
      }
      EXPECT_EQ(count_nonzero_padding(weight), 0U);
    }
  }
}

TEST_P(PackedWeightTest, IsFilledInPiecesOfOutputsAndInputs) {
  for (const DType to : {DType::kF32, DType::kF16, DType::kBF16}) {
    PackedWeight weight = allocate(to, 50, 77);
    std::uint32_t seed = 1;
    std::vector<std::tuple<RandomMatrix, std::int64_t, std::int64_t>> pieces;
    std::int64_t output = 0;
    for (const std::int64_t outputs : {5, 11, 17, 17}) {
      std::int64_t input = 0;
      for (const std::int64_t inputs : {1, 33, 40, 3}) {
        pieces.emplace_back(RandomMatrix(DType::kF32, outputs, inputs, seed++), output, input);
        input += inputs;
      }
      output += outputs;
    }
    for (const auto& [matrix, o, i] : pieces) weight.fill(o, matrix.source(), i);
    for (const auto& [matrix, o, i] : pieces) expect_holds(weight, matrix, o, i);
    EXPECT_EQ(count_nonzero_padding(weight), 0U);
  }
}

TEST_P(PackedWeightTest, IsFilledWithBlocksInPieces) {
  PackedWeight weight = allocate(DType::kQ8_0, 20, 96);
  const RandomMatrix left(DType::kQ8_0, 20, 32, 1);
  const RandomMatrix right(DType::kQ8_0, 13, 64, 2);
  const RandomMatrix rest(DType::kQ8_0, 7, 64, 3);
  weight.fill(0, left.source(), 0);
  weight.fill(0, right.source(), 32);
  weight.fill(13, rest.source(), 32);
  expect_holds(weight, left, 0, 0);
  expect_holds(weight, right, 0, 32);
  expect_holds(weight, rest, 13, 32);
  EXPECT_EQ(count_nonzero_padding(weight), 0U);
}

TEST_P(PackedWeightTest, KeepsTheBlocksOfAnEncodingAsTheyAre) {
  for (const Encoding& encoding : encodings()) {
    if (encoding.dtype == DType::kQ8_0) continue;
    const auto [elements, bytes] = block_of(encoding.dtype);
    const std::int64_t inputs = 2 * elements;
    const RandomMatrix whole(encoding.dtype, 20, inputs, 1);
    const RandomMatrix left(encoding.dtype, 19, elements, 2);
    const RandomMatrix right(encoding.dtype, 19, elements, 3);
    PackedWeight weight = allocate(encoding.dtype, 39, inputs);
    weight.fill(0, whole.source());
    weight.fill(20, left.source());
    weight.fill(20, right.source(), elements);
    const auto same = [&](std::int64_t output, std::int64_t input, const std::byte* wanted) {
      const PackedPanel panel = weight.panel(output / 16);
      std::vector<std::byte> block(static_cast<std::size_t>(bytes));
      TurnedBlocks(encoding.dtype)
          .take(panel.data + panel.layout->block_row_offset(input), output % 16, block.data());
      return std::memcmp(block.data(), wanted, block.size()) == 0;
    };
    for (std::int64_t o = 0; o < 20; ++o) {
      EXPECT_TRUE(same(o, 0, whole.data() + 2 * o * bytes)) << to_string(encoding.dtype);
      EXPECT_TRUE(same(o, elements, whole.data() + (2 * o + 1) * bytes));
    }
    for (std::int64_t o = 0; o < 19; ++o) {
      EXPECT_TRUE(same(20 + o, 0, left.data() + o * bytes)) << to_string(encoding.dtype);
      EXPECT_TRUE(same(20 + o, elements, right.data() + o * bytes));
    }
  }
}

TEST_P(PackedWeightTest, TakesAtMostThreePercentMoreThanTheFile) {
  for (const Encoding& encoding : encodings()) {
    for (const bool gated : {false, true}) {
      const PackedWeight weight = allocate(encoding.dtype, 600, 1024, gated);
      const auto in_file = bytes_of(encoding.dtype, std::int64_t{600} * 1024 * (gated ? 2 : 1));
      EXPECT_LE(static_cast<double>(weight.bytes()), 1.03 * static_cast<double>(in_file.value()))
          << to_string(encoding.dtype);
    }
  }
}

TEST_P(PackedWeightTest, HoldsSeveralTypesInOne) {
  const WeightRun runs[] = {{DType::kF32, 0, 32}, {DType::kBF16, 32, 48}, {DType::kQ8_0, 80, 5}};
  PackedWeight weight = PackedWeight::allocate(runs, 85, 64).value();
  EXPECT_TRUE(weight.is_mixed());
  std::vector<const std::byte*> ends;
  for (std::int64_t panel = 0; panel < 6; ++panel) {
    const PackedPanel found = weight.panel(panel);
    EXPECT_EQ(found.layout->dtype, panel < 2   ? DType::kF32
                                   : panel < 5 ? DType::kBF16
                                               : DType::kQ8_0);
    EXPECT_EQ(found.data, panel == 0 ? weight.data() : ends.back());
    ends.push_back(found.data + found.layout->panel_bytes());
  }
  EXPECT_EQ(ends.back(), weight.data() + weight.bytes());
}

TEST(PackedWeight, HoldsRunsThatBeginAtPanels) {
  const auto holds = [](const std::vector<WeightRun>& runs, std::int64_t outputs, bool gated) {
    return PackedWeight::can_hold(runs, outputs, gated);
  };
  constexpr auto kType = DType::kF32;
  EXPECT_TRUE(holds({{kType, 0, 33}}, 33, false));
  EXPECT_TRUE(holds({{kType, 0, 32}, {kType, 32, 1}}, 33, false));
  EXPECT_TRUE(holds({{kType, 0, 33}, {kType, 33, 33}}, 33, true));
  EXPECT_FALSE(holds({{kType, 0, 31}, {kType, 31, 2}}, 33, false)) << "within a panel";
  EXPECT_FALSE(holds({{kType, 0, 32}}, 33, false)) << "one output is missing";
  EXPECT_FALSE(holds({{kType, 0, 16}, {kType, 32, 1}}, 33, false)) << "a gap";
  EXPECT_FALSE(holds({{kType, 0, 32}, {kType, 32, 32}}, 48, true)) << "within the gate";
  EXPECT_FALSE(holds({}, 1, false));
}

TEST_P(PackedWeightTest, KeepsGateAndUpApart) {
  for (const DType dtype : kPackedTypes) {
    for (const std::int64_t outputs : {16, 19, 32, 50}) {
      const RandomMatrix gate(dtype, outputs, 64, 5);
      const RandomMatrix up(dtype, outputs, 64, 6);
      PackedWeight weight = allocate(dtype, outputs, 64, true);
      weight.fill(0, gate.source());
      weight.fill(outputs, up.source());
      expect_holds(weight, gate, 0, 0);
      expect_holds(weight, up, outputs, 0);
      EXPECT_EQ(count_nonzero_padding(weight), 0U);

      // One matrix of both, as some checkpoints have it, stands over the border.
      const RandomMatrix both(dtype, 2 * outputs, 64, 7);
      weight.fill(0, both.source());
      expect_holds(weight, both, 0, 0);
    }
  }
}

TEST_P(PackedWeightTest, IsFilledByThreadsThatShareAPanel) {
  for (const DType dtype : kPackedTypes) {
    const RandomMatrix matrix(dtype, 64, 256, 9);
    PackedWeight weight = allocate(dtype, 64, 256);
    {
      std::vector<std::jthread> threads;
      for (std::int64_t first = 0; first < 64; first += 10) {
        threads.emplace_back([&, first] {
          SourceMatrix source = matrix.source();
          source.outputs = std::min<std::int64_t>(10, 64 - first);
          const DTypeBlock block = block_of(dtype);
          source.data += first * 256 / block.elements * block.bytes;
          weight.fill(first, source);
        });
      }
    }
    expect_holds(weight, matrix, 0, 0);
  }
}

TEST_P(PackedWeightTest, RoundsSpecialNumbersLikeIeee) {
  const double tie = 1 + 0x1p-8 + 0x1p-40;  // f32 would make a tie of it, and a tie goes down
  const double values[] = {0.0,     -0.0,    65504,     65519.9, 65520, 1e300,  -1e300,
                           0x1p-24, 0x1p-25, 0x1.8p-25, tie,     -tie,  1e-300, HUGE_VAL};
  constexpr auto kCount = static_cast<std::int64_t>(std::size(values));
  for (const DType to : {DType::kF16, DType::kBF16}) {
    PackedWeight weight = allocate(to, 1, kCount);
    weight.fill(0, {.data = reinterpret_cast<const std::byte*>(values),
                    .dtype = DType::kF64,
                    .outputs = 1,
                    .inputs = kCount,
                    .stride_output = kCount});
    for (std::int64_t i = 0; i < kCount; ++i) {
      double expected = std::isinf(values[i]) ? values[i] : nearest(to, values[i]);
      const double largest = to == DType::kF16 ? 65504 : 0x1.fep127;
      if (std::abs(expected) > largest) expected = std::copysign(HUGE_VAL, expected);
      EXPECT_EQ(number_at(weight, 0, i), expected) << to_string(to) << " of " << values[i];
    }
  }
}

TEST_P(PackedWeightTest, KeepsNotANumber) {
  const float values[] = {std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0x7f800001),
                          1};
  for (const DType to : {DType::kF32, DType::kF16, DType::kBF16}) {
    PackedWeight weight = allocate(to, 1, 3);
    weight.fill(0, {.data = reinterpret_cast<const std::byte*>(values),
                    .dtype = DType::kF32,
                    .outputs = 1,
                    .inputs = 3,
                    .stride_output = 3});
    EXPECT_TRUE(std::isnan(number_at(weight, 0, 0)));
    EXPECT_TRUE(std::isnan(number_at(weight, 0, 1)));
    EXPECT_EQ(number_at(weight, 0, 2), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, PackedWeightTest, testing::ValuesIn(available_cpu_targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

TEST(PackedWeight, RefusesTypesAndSizesThatNoOpMultipliesBy) {
  const auto refused = [](DType dtype, std::int64_t outputs, std::int64_t inputs) {
    const auto weight = PackedWeight::allocate(dtype, outputs, inputs);
    return !weight && weight.error().code == KernelErrc::kUnsupportedWeight;
  };
  EXPECT_TRUE(refused(DType::kI8, 16, 32));
  EXPECT_TRUE(refused(DType::kF64, 16, 32));
  EXPECT_TRUE(refused(DType::kF32, 0, 32));
  EXPECT_TRUE(refused(DType::kF32, 16, -1));
  EXPECT_TRUE(refused(DType::kF32, std::int64_t{1} << 31, 32));
  EXPECT_TRUE(refused(DType::kQ8_0, 16, 33));
  EXPECT_TRUE(refused(DType::kQ4_K, 16, 128));
}

TEST(PackedWeight, SaysHowMuchThereWasNoMemoryFor) {
  constexpr std::int64_t kMost = 0x7fffffff;
  const auto weight = PackedWeight::allocate(DType::kF32, kMost, kMost, true);
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().code, KernelErrc::kNoMemory);
  EXPECT_EQ(weight.error().detail, "f32 [2147483647, 2147483647]");
}

TEST(PackedWeight, IsZeroAndAlignedWhenItIsNew) {
  const PackedWeight weight = allocate(DType::kBF16, 100, 3000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weight.data()) % 64, 0U);
  const std::span bytes(weight.data(), weight.bytes());
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }));
}

#ifndef WEFT_ABORT_ON_INTERNAL_ERROR

TEST(PackedWeight, TakesASourceThatDoesNotFitForABug) {
  const RandomMatrix matrix(DType::kF32, 4, 32, 1);
  const RandomMatrix blocks(DType::kQ8_0, 4, 32, 1);
  PackedWeight weight = allocate(DType::kF32, 5, 40);
  EXPECT_THROW(weight.fill(2, matrix.source()), InternalError);
  EXPECT_THROW(weight.fill(-1, matrix.source()), InternalError);
  EXPECT_THROW(weight.fill(0, matrix.source(), 9), InternalError);
  SourceMatrix integers = matrix.source();
  integers.dtype = DType::kI32;
  EXPECT_THROW(weight.fill(0, integers), InternalError);
  SourceMatrix turned = blocks.source();
  turned.stride_input = 2;
  EXPECT_THROW(weight.fill(0, turned), InternalError);
  PackedWeight quantized = allocate(DType::kQ8_0, 4, 64);
  EXPECT_THROW(quantized.fill(0, matrix.source()), InternalError);
  EXPECT_THROW(quantized.fill(0, blocks.source(), 16), InternalError);
}

#endif

TEST(KernelErrc, EachHasANameAndAMessage) {
  EXPECT_EQ(kernel_category().table().size(), static_cast<std::size_t>(KernelErrc::kNoMemory));
  for (const ErrorText& row : kernel_category().table()) {
    EXPECT_FALSE(row.name.empty());
    EXPECT_FALSE(row.message.empty());
  }
}

}  // namespace
}  // namespace weft
