// Products of codes, bit by bit: linear_codes.h says in which order they are scaled and added.

#include "weft/kernels/linear/codes/linear_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "weft/kernels/linear/linear.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/kernels/linear/linear_fixture.h"

namespace weft {
namespace {

using test::pack;
using test::RowBuffer;
using test::run;

constexpr std::int64_t kBlock = CodedPlan::kBlockInputs;

/// Where the blocks of an encoding have what a code is scaled by, as the file has them.
struct Scaling {
  DType dtype;
  std::int64_t group;      ///< codes under one scale
  std::size_t scale_at;    ///< f16
  std::size_t minimum_at;  ///< f16; 0 if there is none
  std::size_t factors_at;  ///< int8 for each group; 0 if there are none
};

constexpr std::array kScalings = {
    Scaling{DType::kQ8_0, 32, 0, 0, 0}, Scaling{DType::kQ4_0, 32, 0, 0, 0},
    Scaling{DType::kQ5_0, 32, 0, 0, 0}, Scaling{DType::kQ4_1, 32, 0, 2, 0},
    Scaling{DType::kQ5_1, 32, 0, 2, 0}, Scaling{DType::kQ6_K, 16, 208, 0, 192},
};

struct RoundedRow {
  std::vector<std::int32_t> codes;
  std::vector<float> scales;

  explicit RoundedRow(std::span<const float> row) {
    for (std::size_t at = 0; at < row.size(); at += kBlock) {
      const auto block = row.subspan(at, kBlock);
      float most = 0;
      for (const float number : block) most = std::max(most, std::abs(number));
      scales.push_back(most / 127);
      const float factor = 127 / most;
      for (const float number : block) {
        codes.push_back(static_cast<std::int32_t>(std::nearbyint(number * factor)));
      }
    }
  }
};

/// One output of a matrix for one row.
class CodedOutput {
 public:
  CodedOutput(const Scaling& scaling, const RandomMatrix& matrix, std::int64_t output)
      : scaling_(scaling), matrix_(matrix), output_(output) {}

  [[nodiscard]] float times(const RoundedRow& row) const {
    float sum = 0;
    for (std::int64_t at = 0; at < matrix_.inputs(); at += scaling_.group) {
      const float scale = scale_of(at);
      std::int32_t total = 0;
      std::int32_t codes = 0;
      for (std::int64_t i = at; i < at + scaling_.group; ++i) {
        const std::int32_t code = row.codes[static_cast<std::size_t>(i)];
        total += code_of(i, scale) * code;
        codes += code;
      }
      float value = static_cast<float>(total) * scale;
      if (scaling_.minimum_at != 0) {
        value = std::fma(static_cast<float>(codes), half(at, scaling_.minimum_at), value);
      }
      sum = std::fma(row.scales[static_cast<std::size_t>(at / kBlock)], value, sum);
    }
    return sum;
  }

 private:
  [[nodiscard]] const std::byte* block_of_input(std::int64_t input) const {
    const DTypeBlock block = block_of(matrix_.dtype());
    return matrix_.data() + (output_ * matrix_.inputs() + input) / block.elements * block.bytes;
  }
  [[nodiscard]] float half(std::int64_t input, std::size_t at) const {
    std::uint16_t bits = 0;
    std::memcpy(&bits, block_of_input(input) + at, sizeof(bits));
    return from_f16(bits);
  }
  [[nodiscard]] float scale_of(std::int64_t input) const {
    const float scale = half(input, scaling_.scale_at);
    if (scaling_.factors_at == 0) return scale;
    const std::int64_t group = input % block_of(matrix_.dtype()).elements / scaling_.group;
    const auto factor = std::to_integer<std::uint8_t>(
        block_of_input(input)[scaling_.factors_at + static_cast<std::size_t>(group)]);
    return scale * static_cast<float>(std::bit_cast<std::int8_t>(factor));
  }
  /// Less its offset.
  [[nodiscard]] std::int32_t code_of(std::int64_t input, float scale) const {
    if (scale == 0) return 0;
    const double minimum =
        scaling_.minimum_at == 0 ? 0 : static_cast<double>(half(input, scaling_.minimum_at));
    return static_cast<std::int32_t>(
        std::nearbyint((matrix_.at(output_, input) - minimum) / static_cast<double>(scale)));
  }

  const Scaling& scaling_;
  const RandomMatrix& matrix_;
  const std::int64_t output_;
};

class CodedProductTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(EveryTarget, CodedProductTest, testing::ValuesIn(available_cpu_targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

TEST_P(CodedProductTest, IsScaledAndAddedInTheOrderOfTheBlocks) {
  constexpr std::int64_t kInputs = 768;  // more than is unpacked at once
  constexpr std::int64_t kOutputs = 37;
  for (const Scaling& scaling : kScalings) {
    if (!multiplies_codes(scaling.dtype)) continue;
    const RandomMatrix matrix(scaling.dtype, kOutputs, kInputs, 17);
    const PackedWeight weight = pack(matrix);
    for (const std::int64_t tokens : {1, 2, 7}) {
      RowBuffer in(tokens, kInputs);
      RowBuffer got(tokens, kOutputs);
      in.randomize(41);
      run({.in = in.rows(), .weight = &weight, .out = got.rows()});
      for (std::int64_t r = 0; r < tokens; ++r) {
        const RoundedRow row({&in.at(r, 0), static_cast<std::size_t>(kInputs)});
        for (std::int64_t o = 0; o < kOutputs; ++o) {
          ASSERT_EQ(got.at(r, o), CodedOutput(scaling, matrix, o).times(row))
              << to_string(scaling.dtype) << ", row " << r << " of " << tokens << ", output " << o;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft
