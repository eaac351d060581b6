#include "weft/kernels/linear/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/activation_reference.h"
#include "weft/tests/kernels/linear/linear_cases.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft {
namespace {

constexpr double kEps = std::numeric_limits<float>::epsilon();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// Of the encodings whose blocks are kept, one of each length: no others differ in the product.
constexpr DType kWeightTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16,
                                  DType::kQ8_0, DType::kQ4_0, DType::kQ6_K};

/// So many inputs, filled up to whole blocks.
std::int64_t in_blocks(DType dtype, std::int64_t inputs) {
  const std::int64_t block = block_of(dtype).elements;
  return (inputs + block - 1) / block * block;
}

/// Rows with NaN between them and before the first, at an address that is no vector's.
class RowBuffer {
 public:
  RowBuffer(std::int64_t count, std::int64_t width, std::int64_t gap = 3)
      : count_(count),
        width_(width),
        stride_(width + gap),
        numbers_(static_cast<std::size_t>(count * stride_ + 1), kNan) {}

  [[nodiscard]] Rows rows() { return {numbers_.data() + 1, count_, width_, stride_}; }
  [[nodiscard]] float& at(std::int64_t row, std::int64_t column) { return rows().row(row)[column]; }
  void randomize(std::uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t r = 0; r < count_; ++r) {
      for (std::int64_t i = 0; i < width_; ++i) at(r, i) = normal(random);
    }
  }
  [[nodiscard]] bool gaps_are_untouched() {
    for (std::int64_t r = 0; r < count_; ++r) {
      const float* end = rows().row(r) + width_;
      if (!std::all_of(end, end + stride_ - width_, [](float f) { return std::isnan(f); })) {
        return false;
      }
    }
    return std::isnan(numbers_.front());
  }

 private:
  std::int64_t count_;
  std::int64_t width_;
  std::int64_t stride_;
  std::vector<float> numbers_;
};

struct alignas(64) Line {
  std::array<std::byte, 64> bytes;
};

/// Runs the op as `threads` threads would, each with a workspace full of NaN, in descending order.
void run(const LinearParams& params, int threads = 1) {
  const std::size_t bytes = linear_workspace_bytes(params.out.count, params.in.width);
  std::vector<Line> memory((bytes + 63) / 64);
  for (int index = threads - 1; index >= 0; --index) {
    std::memset(memory.data(), 0xff, bytes);
    linear(params, {.index = index, .count = threads},
           {reinterpret_cast<std::byte*>(memory.data()), bytes});
  }
}

PackedWeight pack_as(DType dtype, const RandomMatrix& matrix, bool gated) {
  const std::int64_t outputs = gated ? matrix.outputs() / 2 : matrix.outputs();
  auto weight = PackedWeight::allocate(dtype, outputs, matrix.inputs(), gated);
  EXPECT_TRUE(weight) << to_string(weight.error());
  weight->fill(0, matrix.source());
  return std::move(*weight);
}

PackedWeight pack(const RandomMatrix& matrix, bool gated = false) {
  return pack_as(matrix.dtype(), matrix, gated);
}

/// A sum in float64, and how far float32 may be from it: rounding errors of a chain of K additions
/// walk at random, some 0.35 eps sqrt(K) of the products' norm.
struct Sum {
  double value = 0;
  double tolerance = 0;
};

Sum reference(const float* row, const RandomMatrix& weight, std::int64_t output) {
  const bool rounded = weight.dtype() == DType::kBF16 && cpu_target() == CpuTarget::kAvx512Bf16;
  Sum sum;
  double squares = 0;
  for (std::int64_t i = 0; i < weight.inputs(); ++i) {
    const double x = rounded ? from_bf16(to_bf16(row[i])) : row[i];
    const double product = x * weight.at(output, i);
    sum.value += product;
    squares += product * product;
  }
  sum.tolerance =
      2 * kEps * (4 + std::sqrt(static_cast<double>(weight.inputs()))) * std::sqrt(squares);
  return sum;
}

constexpr Activation kActivations[] = {
    Activation::kNone,        Activation::kSilu,      Activation::kGelu,
    Activation::kGeluTanh,    Activation::kGeluQuick, Activation::kRelu,
    Activation::kReluSquared, Activation::kSigmoid,   Activation::kTanh};

/// What the op makes of a sum (of two, gated), in float64.
double finish(const LinearParams& params, double gate, double up, std::int64_t row,
              std::int64_t output) {
  const bool gated = params.weight->gated();
  const std::int64_t outputs = params.weight->outputs();
  const auto bias = [&](std::int64_t i) { return params.bias == nullptr ? 0.0 : params.bias[i]; };
  const double value = test::after_product(params.spec, gated, gate + bias(output),
                                           gated ? up + bias(outputs + output) : 0.0);
  return params.residual.data == nullptr ? value : value + params.residual.row(row)[output];
}

/// Compares `out` with float64: the largest error over what is allowed, and where it is.
testing::AssertionResult agrees(const LinearParams& params, const RandomMatrix& weight) {
  double worst = 0;
  std::string place;
  for (std::int64_t r = 0; r < params.out.count; ++r) {
    const std::int64_t in_row =
        params.input_rows.empty() ? r : params.input_rows[static_cast<std::size_t>(r)];
    for (std::int64_t o = 0; o < params.out.width; ++o) {
      const float* row = params.in.row(in_row);
      const Sum gate = reference(row, weight, o);
      const Sum up = params.weight->gated() ? reference(row, weight, params.out.width + o) : Sum();
      const double expected = finish(params, gate.value, up.value, r, o);
      double allowed = 0;
      for (const double g : {-gate.tolerance, gate.tolerance}) {
        for (const double u : {-up.tolerance, up.tolerance}) {
          const double moved = finish(params, gate.value + g, up.value + u, r, o);
          allowed = std::max(allowed, std::abs(moved - expected));
        }
      }
      const double size = std::max({std::abs(expected), std::abs(gate.value), 1.0});
      allowed += gate.tolerance + 8 * kEps * size * std::max(1.0, std::abs(up.value));
      const double error = std::abs(params.out.row(r)[o] - expected);
      if (!(error / allowed <= worst)) {
        worst = std::isnan(error) ? HUGE_VAL : error / allowed;
        place = "row " + std::to_string(r) + " output " + std::to_string(o) + ": " +
                std::to_string(params.out.row(r)[o]) + " for " + std::to_string(expected);
      }
    }
  }
  if (worst <= 1) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "worst error is " << worst << " of the allowed, at " << place << "; weight "
         << to_string(weight.dtype()) << " [" << weight.outputs() << ", " << weight.inputs()
         << "], T = " << params.out.count << ", " << to_string(cpu_target());
}

class LinearTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

TEST_P(LinearTest, RunsOnTheTargetThatWasForced) {
  ASSERT_EQ(cpu_target(), GetParam());
  // With fused multiplication x * x - (x^2 rounded) is what rounding took; without, it is zero.
  const float x = 1 + 0x1p-12F;
  const float weights[] = {-1, x};
  auto weight = PackedWeight::allocate(DType::kF32, 1, 2);
  ASSERT_TRUE(weight);
  weight->fill(0, {.data = reinterpret_cast<const std::byte*>(weights),
                   .dtype = DType::kF32,
                   .outputs = 1,
                   .inputs = 2,
                   .stride_output = 2});
  const float row[] = {x * x, x};
  float out = kNan;
  run({.in = {row, 1, 2, 2}, .weight = &*weight, .out = {&out, 1, 1, 1}});
  EXPECT_EQ(out != 0, GetParam() != CpuTarget::kPortable);

  // Where bf16 is multiplied, `in` is rounded to it.
  const float one = 1;
  auto narrow = PackedWeight::allocate(DType::kBF16, 1, 1);
  ASSERT_TRUE(narrow);
  narrow->fill(0, {.data = reinterpret_cast<const std::byte*>(&one),
                   .dtype = DType::kF32,
                   .outputs = 1,
                   .inputs = 1,
                   .stride_output = 1});
  run({.in = {&x, 1, 1, 1}, .weight = &*narrow, .out = {&out, 1, 1, 1}});
  EXPECT_EQ(out == 1, GetParam() == CpuTarget::kAvx512Bf16);
}

TEST_P(LinearTest, AgreesWithFloat64AtEverySizeAroundTheTiles) {
  constexpr std::int64_t kSizes[] = {1, 2, 15, 16, 17, 31, 33, 49, 70};
  constexpr std::int64_t kTokens[] = {1, 2, 7, 12, 13, 25, 33};
  for (const DType dtype : kWeightTypes) {
    for (const std::int64_t inputs : {1, 2, 31, 32, 33, 256, 257, 288, 515, 544, 768}) {
      if (!bytes_of(dtype, inputs)) continue;
      std::minstd_rand random(static_cast<std::uint32_t>(inputs));
      for (const std::int64_t outputs : kSizes) {
        // All triples would take minutes under sanitizers; over the seeds all pairs are met.
        const std::int64_t tokens = kTokens[random() % std::size(kTokens)];
        const auto seed = static_cast<std::uint32_t>(random());
        const RandomMatrix matrix(dtype, outputs, inputs, seed);
        const PackedWeight weight = pack(matrix);
        RowBuffer in(tokens, inputs);
        RowBuffer out(tokens, outputs);
        in.randomize(seed);
        const LinearParams params{.in = in.rows(), .weight = &weight, .out = out.rows()};
        run(params, static_cast<int>(1 + random() % 3));
        ASSERT_TRUE(agrees(params, matrix));
        ASSERT_TRUE(out.gaps_are_untouched());
      }
    }
  }
}

TEST_P(LinearTest, AgreesWithFloat64AtEveryNumberOfRows) {
  for (const DType dtype : kWeightTypes) {
    const std::int64_t inputs = in_blocks(dtype, 32);
    const RandomMatrix matrix(dtype, 18, inputs, 17);
    const PackedWeight weight = pack(matrix);
    for (std::int64_t tokens = 1; tokens <= 70; ++tokens) {
      RowBuffer in(tokens, inputs);
      RowBuffer out(tokens, 18);
      in.randomize(static_cast<std::uint32_t>(tokens));
      const LinearParams params{.in = in.rows(), .weight = &weight, .out = out.rows()};
      run(params);
      ASSERT_TRUE(agrees(params, matrix));
    }
  }
}

/// Decoding a weight is all that its encoding changes.
TEST_P(LinearTest, GivesTheSameBitsForAnEncodedWeightAsForItsNumbers) {
  for (const Encoding& encoding : encodings()) {
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

TEST_P(LinearTest, MultipliesAWeightOfSeveralTypes) {
  constexpr std::int64_t kInputs = 512;
  const RandomMatrix first(DType::kQ4_K, 32, kInputs, 1);
  const RandomMatrix second(DType::kQ6_K, 16, kInputs, 2);
  const RandomMatrix third(DType::kF16, 19, kInputs, 3);
  const WeightRun runs[] = {{DType::kQ4_K, 0, 32}, {DType::kQ6_K, 32, 16}, {DType::kF16, 48, 19}};
  PackedWeight mixed = PackedWeight::allocate(runs, 67, kInputs).value();
  PackedWeight numbers = PackedWeight::allocate(DType::kF32, 67, kInputs).value();
  std::int64_t at = 0;
  for (const RandomMatrix* part : {&first, &second, &third}) {
    mixed.fill(at, part->source());
    numbers.fill(at, part->source());
    at += part->outputs();
  }
  for (const std::int64_t tokens : {1, 13}) {
    RowBuffer in(tokens, kInputs);
    RowBuffer got(tokens, 67);
    RowBuffer wanted(tokens, 67);
    in.randomize(5);
    run({.in = in.rows(), .weight = &numbers, .out = wanted.rows()});
    for (const int threads : {1, 3}) {
      run({.in = in.rows(), .weight = &mixed, .out = got.rows()}, threads);
      for (std::int64_t r = 0; r < tokens; ++r) {
        ASSERT_TRUE(test::same_bits(&got.at(r, 0), &wanted.at(r, 0), 67)) << r;
      }
    }
  }
}

TEST_P(LinearTest, MultipliesAGateAndAnUpOfDifferentTypes) {
  constexpr std::int64_t kInputs = 256;
  constexpr std::int64_t kOutputs = 37;
  const RandomMatrix gate(DType::kQ4_0, kOutputs, kInputs, 1);
  const RandomMatrix up(DType::kQ8_0, kOutputs, kInputs, 2);
  const WeightRun runs[] = {{DType::kQ4_0, 0, kOutputs}, {DType::kQ8_0, kOutputs, kOutputs}};
  PackedWeight mixed = PackedWeight::allocate(runs, kOutputs, kInputs, true).value();
  PackedWeight numbers = PackedWeight::allocate(DType::kF32, kOutputs, kInputs, true).value();
  for (PackedWeight* weight : {&mixed, &numbers}) {
    weight->fill(0, gate.source());
    weight->fill(kOutputs, up.source());
  }
  for (const std::int64_t tokens : {1, 13}) {
    RowBuffer in(tokens, kInputs);
    RowBuffer got(tokens, kOutputs);
    RowBuffer wanted(tokens, kOutputs);
    in.randomize(5);
    run({.in = in.rows(), .weight = &numbers, .out = wanted.rows()});
    run({.in = in.rows(), .weight = &mixed, .out = got.rows()}, 2);
    for (std::int64_t r = 0; r < tokens; ++r) {
      ASSERT_TRUE(test::same_bits(&got.at(r, 0), &wanted.at(r, 0), kOutputs)) << r;
    }
  }
}

TEST_P(LinearTest, TakesMoreRowsThanABlockHolds) {
  constexpr std::int64_t kOutputs = 3;
  for (const auto& [tokens, inputs] : {std::pair(300, 32), std::pair(40, 9000)}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const RandomMatrix matrix(dtype, kOutputs, inputs, 23);
      const PackedWeight weight = pack(matrix);
      RowBuffer in(tokens, inputs);
      RowBuffer out(tokens, kOutputs);
      in.randomize(5);
      const LinearParams params{.in = in.rows(), .weight = &weight, .out = out.rows()};
      run(params);
      ASSERT_TRUE(agrees(params, matrix));
    }
  }
}

TEST_P(LinearTest, EndsWithBiasActivationSoftCapScaleAndResidual) {
  const RandomMatrix matrix(DType::kF32, 37, 40, 29);
  const PackedWeight weight = pack(matrix);
  RowBuffer in(5, 40);
  RowBuffer residual(5, 37, 11);
  RowBuffer bias(1, 37);
  in.randomize(1);
  residual.randomize(2);
  bias.randomize(3);
  for (const Activation activation : kActivations) {
    for (unsigned parts = 0; parts < 16; ++parts) {
      RowBuffer out(5, 37);
      LinearParams params{.in = in.rows(),
                          .weight = &weight,
                          .spec = {.activation = activation},
                          .out = out.rows()};
      if ((parts & 1U) != 0) params.bias = bias.rows().data;
      if ((parts & 2U) != 0) params.spec.soft_cap = 1.5F;
      if ((parts & 4U) != 0) params.spec.scale = -0.3F;
      if ((parts & 8U) != 0) params.residual = residual.rows();
      run(params, 2);
      ASSERT_TRUE(agrees(params, matrix)) << "activation " << static_cast<int>(activation);
      ASSERT_TRUE(out.gaps_are_untouched());
    }
  }
}

TEST_P(LinearTest, DoesAllThatCanFollowTheProduct) {
  for (const bool gated : {false, true}) {
    const RandomMatrix matrix(DType::kBF16, gated ? 200 : 100, 72, 29);
    const PackedWeight weight = pack(matrix, gated);
    RowBuffer bias(1, matrix.outputs());
    bias.randomize(3);
    for (const std::int64_t tokens : test::kEveryRowCount) {
      RowBuffer in(tokens, 72);
      in.randomize(1);
      for (const test::After after : test::kEveryAfter) {
        RowBuffer residual(tokens, 100);
        RowBuffer out(tokens, 100);
        residual.randomize(2);
        LinearParams params{.in = in.rows(),
                            .weight = &weight,
                            .spec = test::spec_after(after, gated),
                            .out = out.rows()};
        if (test::has_bias(after)) params.bias = bias.rows().data;
        if (test::has_residual(after)) params.residual = residual.rows();
        LinearParams run_with = params;
        if (after == test::After::kResidualInPlace) {
          out.randomize(2);
          run_with.residual = out.rows();
        }
        run(run_with, 2);
        ASSERT_TRUE(agrees(params, matrix)) << "after " << static_cast<int>(after);
        ASSERT_TRUE(out.gaps_are_untouched());
      }
    }
  }
}

TEST_P(LinearTest, MultipliesGateAndUp) {
  for (const DType dtype : kWeightTypes) {
    const std::int64_t inputs = in_blocks(dtype, 64);
    for (const std::int64_t outputs : {1, 16, 19, 37}) {
      const RandomMatrix matrix(dtype, 2 * outputs, inputs, 31);
      const PackedWeight weight = pack(matrix, true);
      for (const std::int64_t tokens : {1, 5, 13}) {
        RowBuffer in(tokens, inputs);
        RowBuffer residual(tokens, outputs);
        RowBuffer bias(1, 2 * outputs);
        in.randomize(4);
        residual.randomize(5);
        bias.randomize(6);
        // What comes after the sums does not know the type of the weight.
        for (unsigned parts = 0; parts < 32; parts += dtype == DType::kF32 ? 1 : 31) {
          RowBuffer out(tokens, outputs);
          LinearParams params{.in = in.rows(),
                              .weight = &weight,
                              .spec = {.activation = kActivations[parts % std::size(kActivations)]},
                              .out = out.rows()};
          if ((parts & 1U) != 0) params.bias = bias.rows().data;
          if ((parts & 2U) != 0) params.spec.gate_limit = 2;
          if ((parts & 4U) != 0) params.spec.gate_alpha = 1.702F;
          if ((parts & 8U) != 0) params.spec.up_offset = 1;
          if ((parts & 16U) != 0) {
            params.residual = residual.rows();
            params.spec.scale = 0.5F;
          }
          run(params, 3);
          ASSERT_TRUE(agrees(params, matrix)) << "parts " << parts;
          ASSERT_TRUE(out.gaps_are_untouched());
        }
      }
    }
  }
}

TEST_P(LinearTest, AddsToARowInPlace) {
  const RandomMatrix matrix(DType::kBF16, 37, 600, 37);
  const PackedWeight weight = pack(matrix);
  RowBuffer in(14, 600);
  RowBuffer apart(14, 37);
  RowBuffer stream(14, 37);
  RowBuffer before(14, 37);
  in.randomize(7);
  stream.randomize(8);
  before.randomize(8);
  LinearParams params{
      .in = in.rows(), .weight = &weight, .residual = before.rows(), .out = apart.rows()};
  run(params);
  params.residual = stream.rows();
  params.out = stream.rows();
  run(params);
  for (std::int64_t r = 0; r < 14; ++r) {
    EXPECT_TRUE(test::same_bits(&apart.at(r, 0), &stream.at(r, 0), 37)) << r;
  }
}

/// Rows by input row: the same row of `in` must give the same bits whatever stands around it.
TEST_P(LinearTest, GivesTheSameBitsWhateverElseIsInTheStep) {
  constexpr std::int32_t kRows = 26;
  for (const DType dtype : kWeightTypes) {
    for (const bool gated : {false, true}) {
      const std::int64_t inputs = in_blocks(dtype, 544);  // more than one step, as pairs too
      const RandomMatrix matrix(dtype, 38, inputs, 41);
      const PackedWeight weight = pack(matrix, gated);
      const std::int64_t outputs = weight.outputs();
      RowBuffer in(kRows, inputs);
      in.randomize(9);
      RowBuffer expected(kRows, outputs);
      const auto once = [&](Rows out, std::vector<std::int32_t> rows, int threads) {
        LinearParams params{.in = in.rows(),
                            .weight = &weight,
                            .spec = {.activation = Activation::kSilu},
                            .out = out};
        params.input_rows = rows;
        run(params, threads);
      };
      for (std::int32_t r = 0; r < kRows; ++r) {
        Rows one = expected.rows();
        one.data = one.row(r);
        one.count = 1;
        once(one, {r}, 1);
      }
      std::mt19937 random(43);
      for (std::int32_t tokens = 1; tokens <= kRows; tokens += tokens < 13 ? 1 : 4) {
        std::vector<std::int32_t> rows(kRows);
        std::iota(rows.begin(), rows.end(), 0);
        std::shuffle(rows.begin(), rows.end(), random);
        rows.resize(static_cast<std::size_t>(tokens));
        RowBuffer out(tokens, outputs);
        once(out.rows(), rows, 1 + tokens % 5);
        for (std::int32_t r = 0; r < tokens; ++r) {
          const std::int32_t from = rows[static_cast<std::size_t>(r)];
          ASSERT_TRUE(test::same_bits(&out.at(r, 0), &expected.at(from, 0), outputs))
              << to_string(dtype) << " row " << from << " as " << r << " of " << tokens;
        }
      }
    }
  }
}

TEST_P(LinearTest, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const DType dtype : kWeightTypes) {
    const std::int64_t inputs = in_blocks(dtype, 64);
    const RandomMatrix matrix(dtype, 150, inputs, 47);
    const PackedWeight weight = pack(matrix);
    RowBuffer in(13, inputs);
    in.randomize(11);
    RowBuffer alone(13, 150);
    LinearParams params{.in = in.rows(), .weight = &weight, .out = alone.rows()};
    run(params, 1);
    for (const int threads : {2, 3, 4, 5, 16}) {
      RowBuffer together(13, 150);
      params.out = together.rows();
      run(params, threads);
      for (std::int64_t r = 0; r < 13; ++r) {
        ASSERT_TRUE(test::same_bits(&alone.at(r, 0), &together.at(r, 0), 150))
            << threads << " threads, row " << r;
      }
    }
  }
}

TEST_P(LinearTest, DoesNotReadOrWriteOtherRowsThanAskedFor) {
  const RandomMatrix matrix(DType::kF32, 20, 33, 53);
  const PackedWeight weight = pack(matrix);
  RowBuffer in(6, 33);
  in.randomize(13);
  for (std::int64_t i = 0; i < 33; ++i) in.at(2, i) = kNan;
  const std::vector<std::int32_t> rows = {5, 0, 5};
  RowBuffer out(3, 20);
  const LinearParams params{
      .in = in.rows(), .weight = &weight, .out = out.rows(), .input_rows = rows};
  run(params);
  EXPECT_TRUE(agrees(params, matrix));
  EXPECT_TRUE(test::same_bits(&out.at(0, 0), &out.at(2, 0), 20));
}

TEST_P(LinearTest, KeepsNotANumberInItsRow) {
  for (const DType dtype : kWeightTypes) {
    const std::int64_t inputs = in_blocks(dtype, 64);
    for (const Activation activation : kActivations) {
      const RandomMatrix matrix(dtype, 20, inputs, 59);
      const PackedWeight weight = pack(matrix);
      RowBuffer in(5, inputs);
      in.randomize(17);
      in.at(3, inputs - 1) = kNan;
      RowBuffer out(5, 20);
      run({.in = in.rows(),
           .weight = &weight,
           .spec = {.activation = activation, .soft_cap = 30},
           .out = out.rows()});
      for (std::int64_t r = 0; r < 5; ++r) {
        for (std::int64_t o = 0; o < 20; ++o) {
          ASSERT_EQ(std::isnan(out.at(r, o)), r == 3)
              << to_string(dtype) << " activation " << static_cast<int>(activation);
        }
      }
    }
  }
}

/// One input, a weight of 1: the op is its activation.
TEST_P(LinearTest, ActivatesToFourUnitsInTheLastPlace) {
  const float one = 1;
  auto weight = PackedWeight::allocate(DType::kF32, 1, 1);
  ASSERT_TRUE(weight);
  weight->fill(0, {.data = reinterpret_cast<const std::byte*>(&one),
                   .dtype = DType::kF32,
                   .outputs = 1,
                   .inputs = 1,
                   .stride_output = 1});
  std::vector<float> numbers = {0,   -0.0F, 1e-30F, -1e-30F, 88,    -88,   89,
                                -89, 105,   -105,   1e4F,    -1e4F, 1e18F, -1e18F};
  for (int i = -20000; i <= 20000; ++i) numbers.push_back(static_cast<float>(i) * 0x1p-10F);
  for (int e = -40; e < 8; ++e) {
    for (const float part : {1.0F, 1.3F, 1.7F}) {
      numbers.push_back(std::ldexp(part, e));
      numbers.push_back(std::ldexp(-part, e));
    }
  }
  std::vector<float> out(numbers.size());
  const auto count = static_cast<std::int64_t>(numbers.size());
  for (const Activation activation : kActivations) {
    run({.in = {numbers.data(), count, 1, 1},
         .weight = &*weight,
         .spec = {.activation = activation},
         .out = {out.data(), count, 1, 1}});
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double expected = test::activate(activation, numbers[i]);
      const double size = std::max(std::abs(static_cast<double>(numbers[i])), std::abs(expected));
      const double error = std::abs(out[i] - expected);
      const double units = size == 0 ? (error == 0 ? 0 : HUGE_VAL) : error / size / kEps;
      if (!(units <= worst)) {
        worst = units;
        at = numbers[i];
      }
    }
    EXPECT_LE(worst, 4) << "activation " << static_cast<int>(activation) << " of " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, LinearTest, testing::ValuesIn(available_cpu_targets()),
                         [](const auto& target) { return std::string(to_string(target.param)); });

TEST(LinearWorkspace, GrowsWithRowsAndHoldsFewer) {
  for (const std::int64_t inputs : {1, 100, 4096, 100000}) {
    std::size_t last = 0;
    for (std::int64_t rows = 1; rows <= 600; ++rows) {
      const std::size_t bytes = linear_workspace_bytes(rows, inputs);
      ASSERT_GE(bytes, last) << rows << " rows of " << inputs;
      last = bytes;
    }
  }
}

#ifndef WEFT_ABORT_ON_INTERNAL_ERROR

TEST(Linear, TakesParametersThatDoNotFitForABug) {
  const RandomMatrix matrix(DType::kF32, 20, 32, 61);
  const PackedWeight plain = pack(matrix);
  const PackedWeight gated = pack(matrix, true);
  RowBuffer in(3, 32);
  RowBuffer out(3, 20);
  RowBuffer half(3, 10);
  in.randomize(1);
  const LinearParams good{.in = in.rows(), .weight = &plain, .out = out.rows()};
  EXPECT_NO_THROW(run(good));
  const auto refused = [&](const std::function<void(LinearParams&)>& spoil) {
    LinearParams bad = good;
    spoil(bad);
    try {
      run(bad);
    } catch (const InternalError&) {
      return true;
    }
    return false;
  };
  const std::vector<std::int32_t> beyond = {0, 3, 1};
  const std::vector<std::int32_t> negative = {0, -1, 1};
  const std::vector<std::int32_t> few = {0, 1};
  const PackedWeight empty;
  EXPECT_TRUE(refused([](LinearParams& p) { p.weight = nullptr; }));
  EXPECT_TRUE(refused([&](LinearParams& p) { p.weight = &empty; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.in.width = 31; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.in.count = 2; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.in.stride = 31; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.in.data = nullptr; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.out.width = 21; }));
  EXPECT_TRUE(refused([&](LinearParams& p) { p.residual = half.rows(); }));
  EXPECT_TRUE(refused([&](LinearParams& p) { p.input_rows = beyond; }));
  EXPECT_TRUE(refused([&](LinearParams& p) { p.input_rows = negative; }));
  EXPECT_TRUE(refused([&](LinearParams& p) { p.input_rows = few; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.spec.gate_alpha = 1; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.spec.up_offset = 1; }));
  EXPECT_TRUE(refused([](LinearParams& p) { p.spec.gate_limit = 1; }));
  EXPECT_TRUE(refused([&](LinearParams& p) {
    p.weight = &gated;
    p.out = half.rows();
    p.spec.soft_cap = 1;
  }));
  std::vector<Line> memory(1);
  const std::span small(reinterpret_cast<std::byte*>(memory.data()), 64);
  EXPECT_THROW(linear(good, {}, small), InternalError);
}

#endif

}  // namespace
}  // namespace weft
