// The linear op by encoded weights, and by weights of several types.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/linear/linear_cpu_avx512vnni.h"
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

bool multiplies_codes(DType dtype) {
  return cpu_target() == CpuTarget::kAvx512Bf16 && avx512vnni::has_codes(dtype);
}

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
  matrices.emplace_back(DType::kQ8_0, 32, kInputs, 3);
  matrices.emplace_back(DType::kQ4_0, 7, kInputs, 4);
  expect_those_of_its_parts(Mixed(matrices, false));
}

TEST_P(EncodedLinearTest, MultipliesAGateAndAnUpOfDifferentTypes) {
  constexpr std::int64_t kInputs = 512;
  constexpr std::int64_t kOutputs = 37;
  for (const auto& [gate_type, up_type] : {std::pair(DType::kQ4_K, DType::kQ6_K),
                                           {DType::kQ6_K, DType::kF32},
                                           {DType::kIQ3_S, DType::kQ5_0},
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

TEST_P(EncodedLinearTest, TakesRowsOfZerosAndOfNumbersAtTheirLimits) {
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_K}) {
    const RandomMatrix matrix(dtype, 17, 256, 7);
    const PackedWeight weight = pack(matrix);
    RowBuffer in(4, 256);
    RowBuffer out(4, 17);
    for (std::int64_t i = 0; i < 256; ++i) {
      in.at(0, i) = 0;
      in.at(1, i) = std::numeric_limits<float>::denorm_min();
      in.at(2, i) = 1e30F;
      in.at(3, i) = i == 100 ? std::numeric_limits<float>::infinity() : 1;
    }
    run({.in = in.rows(), .weight = &weight, .out = out.rows()});
    for (std::int64_t o = 0; o < 17; ++o) {
      EXPECT_EQ(out.at(0, o), 0);
      EXPECT_NEAR(out.at(1, o), 0, 1e-30);
      EXPECT_TRUE(std::isfinite(out.at(2, o)));
      EXPECT_FALSE(std::isfinite(out.at(3, o)));
    }
  }
}

}  // namespace
}  // namespace weft
