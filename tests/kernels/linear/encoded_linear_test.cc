// The linear op by encoded weights, and by weights of several types.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/linear/linear_fixture.h"

namespace weft {
namespace {

using test::agrees;
using test::pack;
using test::pack_as;
using test::RowBuffer;
using test::run;

class EncodedLinearTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(EveryTarget, EncodedLinearTest, testing::ValuesIn(available_cpu_targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

/// Matrices under each other in one weight, each in its own type.
struct Mixed {
  PackedWeight weight;
  std::vector<PackedWeight> parts;

  Mixed(const std::vector<RandomMatrix>& matrices, bool gated) {
    std::vector<WeightRun> runs;
    std::int64_t outputs = 0;
    for (const RandomMatrix& matrix : matrices) {
      runs.push_back({matrix.dtype(), outputs, matrix.outputs()});
      outputs += matrix.outputs();
      parts.push_back(pack(matrix));
    }
    const std::int64_t inputs = matrices.front().inputs();
    weight = PackedWeight::allocate(runs, gated ? outputs / 2 : outputs, inputs, gated).value();
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      weight.fill(runs[i].first_output, matrices[i].source());
    }
  }
};

/// Whether its outputs have the bits of those of its parts.
void expect_those_of_its_parts(const Mixed& mixed) {
  const std::int64_t inputs = mixed.weight.inputs();
  for (const std::int64_t tokens : {1, 4, 13}) {
    RowBuffer in(tokens, inputs);
    in.randomize(5);
    for (const int threads : {1, 3}) {
      RowBuffer got(tokens, mixed.weight.outputs());
      run({.in = in.rows(), .weight = &mixed.weight, .out = got.rows()}, threads);
      std::int64_t first = 0;
      for (const PackedWeight& part : mixed.parts) {
        RowBuffer wanted(tokens, part.outputs());
        run({.in = in.rows(), .weight = &part, .out = wanted.rows()});
        for (std::int64_t r = 0; r < tokens; ++r) {
          ASSERT_TRUE(test::same_bits(&got.at(r, first), &wanted.at(r, 0), part.outputs()))
              << to_string(part.dtype()) << ", row " << r << " of " << tokens;
        }
        first += part.outputs();
      }
    }
  }
}

/// Where codes are not multiplied, decoding a weight is all that its encoding changes.
TEST_P(EncodedLinearTest, GivesTheSameBitsForAnEncodedWeightAsForItsNumbers) {
  for (const Encoding& encoding : encodings()) {
    if (multiplies_codes(encoding.dtype)) continue;
    for (const bool gated : {false, true}) {
      const std::int64_t inputs = 3 * block_of(encoding.dtype).elements;
      const RandomMatrix matrix(encoding.dtype, 34, inputs, 19);
      const PackedWeight encoded = pack(matrix, gated);
      const PackedWeight numbers = pack_as(DType::kF32, matrix, gated);
      for (const std::int64_t tokens : {1, 14}) {
        RowBuffer in(tokens, inputs);
        RowBuffer got(tokens, encoded.outputs());
        RowBuffer wanted(tokens, encoded.outputs());
        in.randomize(3);
        run({.in = in.rows(), .weight = &encoded, .out = got.rows()}, 2);
        run({.in = in.rows(), .weight = &numbers, .out = wanted.rows()});
        for (std::int64_t r = 0; r < tokens; ++r) {
          ASSERT_TRUE(test::same_bits(&got.at(r, 0), &wanted.at(r, 0), encoded.outputs()))
              << to_string(encoding.dtype) << ", row " << r << " of " << tokens;
        }
      }
    }
  }
}

TEST_P(EncodedLinearTest, AgreesWithFloat64ForEveryEncodingAndIsTheSameForARowAlone) {
  for (const Encoding& encoding : encodings()) {
    for (const std::int64_t blocks : {1, 5}) {
      const std::int64_t inputs = blocks * block_of(encoding.dtype).elements;
      const RandomMatrix matrix(encoding.dtype, 37, inputs, 23);
      const PackedWeight weight = pack(matrix);
      RowBuffer in(14, inputs);
      RowBuffer together(14, 37);
      in.randomize(3);
      const LinearParams all{.in = in.rows(), .weight = &weight, .out = together.rows()};
      run(all, 2);
      ASSERT_TRUE(agrees(all, matrix));
      for (std::int32_t r = 0; r < 14; ++r) {
        RowBuffer alone(1, 37);
        const std::vector<std::int32_t> rows = {r};
        run({.in = in.rows(), .weight = &weight, .out = alone.rows(), .input_rows = rows});
        ASSERT_TRUE(test::same_bits(&alone.at(0, 0), &together.at(r, 0), 37))
            << to_string(encoding.dtype) << ", row " << r;
      }
    }
  }
}

/// As a weight whose columns were put in order of their groups has them.
TEST_P(EncodedLinearTest, TakesItsInputsInTheOrderOfTheWeightsColumns) {
  constexpr std::int64_t kInputs = 256;
  constexpr std::int64_t kOutputs = 37;
  std::vector<std::int32_t> order(kInputs);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(4));
  RowBuffer in(9, kInputs);
  RowBuffer moved(9, kInputs);
  in.randomize(3);
  for (std::int64_t r = 0; r < 9; ++r) {
    for (std::int64_t i = 0; i < kInputs; ++i)
      moved.at(r, i) = in.at(r, order[static_cast<std::size_t>(i)]);
  }
  for (const DType dtype : {DType::kI4_128, DType::kI3_64, DType::kF8_256, DType::kBF16}) {
    const RandomMatrix matrix(dtype, kOutputs, kInputs, 11);
    const PackedWeight plain = pack(matrix);
    PackedWeight ordered = pack(matrix);
    ordered.set_input_order(std::make_shared<const std::vector<std::int32_t>>(order));
    RowBuffer got(9, kOutputs);
    RowBuffer wanted(9, kOutputs);
    run({.in = in.rows(), .weight = &ordered, .out = got.rows()}, 2);
    run({.in = moved.rows(), .weight = &plain, .out = wanted.rows()});
    for (std::int64_t r = 0; r < 9; ++r) {
      ASSERT_TRUE(test::same_bits(&got.at(r, 0), &wanted.at(r, 0), kOutputs)) << to_string(dtype);
    }
  }
}

TEST_P(EncodedLinearTest, MultipliesAWeightOfSeveralTypes) {
  constexpr std::int64_t kInputs = 768;
  std::vector<RandomMatrix> matrices;
  matrices.emplace_back(DType::kIQ3_S, 32, kInputs, 1);
  matrices.emplace_back(DType::kTQ2_0, 16, kInputs, 2);
  matrices.emplace_back(DType::kF16, 19, kInputs, 3);
  expect_those_of_its_parts(Mixed(matrices, false));
}

/// As files have them whose values are more precise than their queries and keys.
TEST_P(EncodedLinearTest, MultipliesAWeightOfSeveralTypesByTheirCodes) {
  constexpr std::int64_t kInputs = 768;
  std::vector<RandomMatrix> matrices;
  matrices.emplace_back(DType::kQ4_K, 48, kInputs, 1);
  matrices.emplace_back(DType::kQ6_K, 16, kInputs, 2);
  const bool has_q8_0 = multiplies_codes(DType::kQ8_0);
  matrices.emplace_back(has_q8_0 ? DType::kQ8_0 : DType::kQ5_0, 32, kInputs, 3);
  matrices.emplace_back(DType::kI4_128, 16, kInputs, 5);
  matrices.emplace_back(DType::kQ4_0, 7, kInputs, 4);
  expect_those_of_its_parts(Mixed(matrices, false));
}

TEST_P(EncodedLinearTest, MultipliesAGateAndAnUpOfDifferentTypes) {
  constexpr std::int64_t kInputs = 512;
  constexpr std::int64_t kOutputs = 37;
  for (const auto& [gate_type, up_type] : {std::pair(DType::kQ4_K, DType::kQ6_K),
                                           {DType::kQ6_K, DType::kF32},
                                           {DType::kIQ3_S, DType::kQ5_0},
                                           {DType::kI3_64, DType::kI8_128},
                                           {DType::kQ2_K, DType::kMXFP4}}) {
    std::vector<RandomMatrix> matrices;
    matrices.emplace_back(gate_type, kOutputs, kInputs, 1);
    matrices.emplace_back(up_type, kOutputs, kInputs, 2);
    const Mixed mixed(matrices, true);
    RowBuffer in(5, kInputs);
    RowBuffer got(5, kOutputs);
    RowBuffer gate(5, kOutputs);
    RowBuffer up(5, kOutputs);
    in.randomize(5);
    run({.in = in.rows(), .weight = &mixed.weight, .out = got.rows()}, 2);
    // A mixed weight is multiplied by its codes only where all of it is.
    const bool codes = multiplies_codes(gate_type) && multiplies_codes(up_type);
    const PackedWeight gate_part =
        codes ? pack(matrices[0]) : pack_as(DType::kF32, matrices[0], false);
    const PackedWeight up_part =
        codes ? pack(matrices[1]) : pack_as(DType::kF32, matrices[1], false);
    run({.in = in.rows(), .weight = &gate_part, .out = gate.rows()});
    run({.in = in.rows(), .weight = &up_part, .out = up.rows()});
    for (std::int64_t r = 0; r < 5; ++r) {
      for (std::int64_t o = 0; o < kOutputs; ++o) {
        ASSERT_EQ(got.at(r, o), gate.at(r, o) * up.at(r, o)) << to_string(gate_type);
      }
    }
  }
}

/// Numbers that int8 has exactly: each block's largest is +-127 times a power of two.
TEST_P(EncodedLinearTest, RoundsNoRowOfWholeCodes) {
  for (const Encoding& encoding : encodings()) {
    const DType dtype = encoding.dtype;
    const RandomMatrix matrix(dtype, 20, 512, 7);
    const PackedWeight weight = pack(matrix);
    const PackedWeight numbers = pack_as(DType::kF32, matrix, false);
    RowBuffer in(3, 512);
    RowBuffer got(3, 20);
    RowBuffer wanted(3, 20);
    std::minstd_rand random(1);
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t i = 0; i < 512; ++i) {
        const auto code = i % 32 == r ? -127 : static_cast<int>(random() % 255) - 127;
        in.at(r, i) = std::ldexp(static_cast<float>(code), static_cast<int>(i / 32) - 8);
      }
    }
    run({.in = in.rows(), .weight = &weight, .out = got.rows()});
    run({.in = in.rows(), .weight = &numbers, .out = wanted.rows()});
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t o = 0; o < 20; ++o) {
        double norm = 0;
        for (std::int64_t i = 0; i < 512; ++i) {
          norm += std::abs(static_cast<double>(in.at(r, i)) * matrix.at(o, i));
        }
        EXPECT_NEAR(got.at(r, o), wanted.at(r, o), 1e-6 * norm) << to_string(dtype);
      }
    }
  }
}

/// Returns the product of a weight and some rows on one target.
std::vector<float> product_on(CpuTarget target, const PackedWeight& weight, RowBuffer& in) {
  const ForcedCpuTarget forced(target);
  RowBuffer out(in.rows().count, weight.outputs());
  run({.in = in.rows(), .weight = &weight, .out = out.rows()}, 2);
  std::vector<float> all;
  for (std::int64_t r = 0; r < in.rows().count; ++r) {
    all.insert(all.end(), &out.at(r, 0), &out.at(r, 0) + weight.outputs());
  }
  return all;
}

std::vector<CpuTarget> targets_that_multiply_codes(DType dtype) {
  std::vector<CpuTarget> targets;
  for (const CpuTarget target : available_cpu_targets()) {
    const ForcedCpuTarget forced(target);
    if (multiplies_codes(dtype)) targets.push_back(target);
  }
  return targets;
}

TEST(CodedLinearTest, GivesTheSameBitsOnEveryTargetThatMultipliesCodes) {
  constexpr std::int64_t kInputs = 768;  // more than is unpacked at once
  if (targets_that_multiply_codes(DType::kQ4_0).empty()) {
    GTEST_SKIP() << "this processor multiplies no codes";
  }
  for (const Encoding& encoding : encodings()) {
    const std::vector<CpuTarget> targets = targets_that_multiply_codes(encoding.dtype);
    if (targets.empty()) continue;
    const RandomMatrix matrix(encoding.dtype, 37, kInputs, 29);
    const PackedWeight weight = pack(matrix);
    // Whole tiles of four, six and 16 rows, and what is left of them.
    for (const std::int64_t tokens : {1, 3, 13, 37}) {
      RowBuffer in(tokens, kInputs);
      in.randomize(31);
      const std::vector<float> wanted = product_on(targets.back(), weight, in);
      for (const CpuTarget target : targets) {
        const std::vector<float> got = product_on(target, weight, in);
        ASSERT_TRUE(test::same_bits(got.data(), wanted.data(), std::ssize(wanted)))
            << to_string(encoding.dtype) << " on " << to_string(target) << ", T = " << tokens;
      }
    }
  }
}

/// Blocks whose codes are all ones, and where their scales in f16 stand: the largest sums.
struct FullBlock {
  DType dtype;
  std::vector<std::size_t> scales;
};

TEST(CodedLinearTest, HoldsTheLargestSumsOnEveryTarget) {
  constexpr std::int64_t kInputs = 512;
  constexpr std::int64_t kSides = 16;
  constexpr std::int64_t kRows = 32;  // as many as go by tiles whatever the type
  constexpr std::uint16_t kOne = 0x3c00;
  for (const auto& [dtype, scales] : std::vector<FullBlock>{{DType::kQ4_0, {0}},
                                                            {DType::kQ4_1, {0, 2}},
                                                            {DType::kQ5_0, {0}},
                                                            {DType::kQ5_1, {0, 2}},
                                                            {DType::kQ2_K, {80, 82}},
                                                            {DType::kQ3_K, {108}},
                                                            {DType::kQ4_K, {0, 2}},
                                                            {DType::kQ5_K, {0, 2}},
                                                            {DType::kQ6_K, {208}},
                                                            {DType::kIQ4_NL, {0}},
                                                            {DType::kIQ4_XS, {0}}}) {
    const DTypeBlock block = block_of(dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(*bytes_of(dtype, kSides * kInputs)),
                                 std::byte{0xff});
    for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(block.bytes)) {
      for (const std::size_t scale : scales) std::memcpy(&bytes[at + scale], &kOne, sizeof(kOne));
    }
    const SourceMatrix source{.data = bytes.data(),
                              .dtype = dtype,
                              .outputs = kSides,
                              .inputs = kInputs,
                              .stride_output = kInputs};
    const auto packed = [&](DType as) {
      auto weight = PackedWeight::allocate(as, kSides, kInputs).value();
      weight.fill(0, source);
      return weight;
    };
    const PackedWeight weight = packed(dtype);
    const PackedWeight numbers = packed(DType::kF32);
    RowBuffer in(kRows, kInputs);
    for (std::int64_t i = 0; i < kInputs; ++i) {
      for (std::int64_t r = 0; r < kRows; ++r) in.at(r, i) = r % 2 == 0 ? 127 : -127;
    }
    const std::vector<float> wanted = product_on(CpuTarget::kPortable, numbers, in);
    for (const CpuTarget target : available_cpu_targets()) {
      const std::vector<float> got = product_on(target, weight, in);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(got[i], wanted[i], std::abs(wanted[i]) * 1e-5)
            << to_string(dtype) << " on " << to_string(target);
      }
    }
  }
}

TEST_P(EncodedLinearTest, TakesRowsOfZerosAndOfNumbersAtTheirLimits) {
  for (const DType dtype : {DType::kBF16, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K}) {
    const RandomMatrix matrix(dtype, 17, 256, 7);
    const PackedWeight weight = pack(matrix);
    for (const std::int64_t rows : {4, 32}) {
      RowBuffer in(rows, 256);
      RowBuffer out(rows, 17);
      for (std::int64_t i = 0; i < 256; ++i) {
        for (std::int64_t r = 0; r < rows; r += 4) {
          in.at(r, i) = 0;
          in.at(r + 1, i) = std::numeric_limits<float>::denorm_min();
          in.at(r + 2, i) = 1e30F;
          in.at(r + 3, i) = i == 100 ? std::numeric_limits<float>::infinity() : 1;
        }
      }
      run({.in = in.rows(), .weight = &weight, .out = out.rows()});
      for (std::int64_t o = 0; o < 17; ++o) {
        for (std::int64_t r = 0; r < rows; r += 4) {
          EXPECT_EQ(out.at(r, o), 0);
          EXPECT_NEAR(out.at(r + 1, o), 0, 1e-30);
          EXPECT_TRUE(std::isfinite(out.at(r + 2, o)));
          EXPECT_FALSE(std::isfinite(out.at(r + 3, o)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
