#include "weft/kernels/linear/linear.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/fixture/same_bits.h"
#include "weft/tests/kernels/activation_reference.h"
#include "weft/tests/kernels/linear/linear_cases.h"
#include "weft/tests/kernels/linear/linear_fixture.h"

namespace weft {
namespace {

using test::agrees;
using test::has_own_product;
using test::in_blocks;
using test::kEps;
using test::kNan;
using test::pack;
using test::RowBuffer;
using test::run;

// One encoding for each way of multiplication.
constexpr DType kWeightTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                                  DType::kQ4_0, DType::kQ4_K, DType::kQ6_K};

constexpr Activation kActivations[] = {
    Activation::kNone,      Activation::kSilu,     Activation::kGelu,        Activation::kGeluTanh,
    Activation::kGeluQuick, Activation::kRelu,     Activation::kReluSquared, Activation::kSigmoid,
    Activation::kTanh,      Activation::kSoftplus, Activation::kXielu};

// Numbers that a layer might learn, none of them the default's.
constexpr XieluSpec kXielu{.positive = 1.3F, .negative = 0.6F, .slope = 0.25F, .bound = -0.001F};

class LinearTest : public testing::TestWithParam<CpuTarget> {
 protected:
  ForcedCpuTarget forced_{GetParam()};
};

/// Tests weights without codes on targets that multiply them by their own instructions.
class PlainLinearTest : public LinearTest {};

std::vector<CpuTarget> targets_with_plain_products() {
  std::vector<CpuTarget> targets;
  std::ranges::copy_if(available_cpu_targets(), std::back_inserter(targets),
                       test::has_own_plain_product);
  return targets;
}

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
  EXPECT_EQ(out != 0, test::fuses(GetParam()));

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
  EXPECT_EQ(out == 1, multiplies_bf16(GetParam()));
}

TEST_P(LinearTest, AgreesWithFloat64AtEverySizeAroundTheTiles) {
  constexpr std::int64_t kSizes[] = {1, 2, 15, 16, 17, 31, 33, 49, 70};
  constexpr std::int64_t kTokens[] = {1, 2, 7, 12, 13, 25, 33};
  for (const DType dtype : kWeightTypes) {
    if (!has_own_product(dtype)) continue;
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
    if (!has_own_product(dtype)) continue;
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

TEST_P(LinearTest, TakesMoreRowsThanABlockHolds) {
  constexpr std::int64_t kOutputs = 3;
  for (const auto& [tokens, inputs] : {std::pair(300, 32), std::pair(40, 9024)}) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ4_0}) {
      if (!has_own_product(dtype)) continue;
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

TEST_P(PlainLinearTest, EndsWithBiasActivationSoftCapScaleAndResidual) {
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
                          .spec = {.activation = activation, .xielu = kXielu},
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

TEST_P(PlainLinearTest, DoesAllThatCanFollowTheProduct) {
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
    if (!has_own_product(dtype)) continue;
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
        // The steps after the sums do not depend on the type of the weight.
        for (unsigned parts = 0; parts < 32; parts += dtype == DType::kF32 ? 1 : 31) {
          RowBuffer out(tokens, outputs);
          LinearParams params{.in = in.rows(),
                              .weight = &weight,
                              .spec = {.activation = kActivations[parts % std::size(kActivations)],
                                       .xielu = kXielu},
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

TEST_P(PlainLinearTest, AddsToARowInPlace) {
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

/// More rows than a block has are dealt out to the threads, too.
TEST_P(LinearTest, GivesTheSameBitsHoweverManyShareBlocksOfRows) {
  constexpr std::int64_t kRows = 2 * LinearPlan::kMaxBlockRows + 40;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
    const std::int64_t inputs = in_blocks(dtype, 64);
    const RandomMatrix matrix(dtype, 70, inputs, 51);
    const PackedWeight weight = pack(matrix);
    RowBuffer in(kRows, inputs);
    in.randomize(11);
    RowBuffer alone(kRows, 70);
    run({.in = in.rows(), .weight = &weight, .out = alone.rows()}, 1);
    for (const int threads : {2, 3, 4, 5, 6, 9}) {
      RowBuffer out(kRows, 70);
      run({.in = in.rows(), .weight = &weight, .out = out.rows()}, threads);
      for (std::int64_t r = 0; r < kRows; ++r) {
        ASSERT_TRUE(test::same_bits(&out.at(r, 0), &alone.at(r, 0), 70)) << threads << " " << r;
      }
    }
  }
}

/// One thread does all pieces, and its rows are spoilt after the first of each block: who packed
/// them again would see it.
TEST_P(LinearTest, PacksTheRowsOfSeveralPiecesOnce) {
  constexpr int kPieces = 4;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
    const std::int64_t inputs = in_blocks(dtype, 64);
    const RandomMatrix matrix(dtype, 150, inputs, 59);
    const PackedWeight weight = pack(matrix);
    RowBuffer in(7, inputs);
    in.randomize(13);
    RowBuffer expected(7, 150);
    LinearParams params{.in = in.rows(), .weight = &weight, .out = expected.rows()};
    run(params, kPieces);

    RowBuffer out(7, 150);
    PackedBlock packed;
    params.out = out.rows();
    params.packed = &packed;
    test::Workspace workspace(params);
    for (int index = 0; index < kPieces; ++index) {
      linear(params, {.index = index, .count = kPieces}, workspace.bytes());
      EXPECT_EQ(packed.rows, 7);
      for (std::int64_t r = 0; r < 7; ++r) in.at(r, 0) = kNan;
    }
    for (std::int64_t r = 0; r < 7; ++r) {
      ASSERT_TRUE(test::same_bits(&out.at(r, 0), &expected.at(r, 0), 150)) << r;
    }
    packed = {};
    linear(params, {.index = 0, .count = 1}, workspace.bytes());
    EXPECT_TRUE(std::isnan(out.at(3, 5))) << "nothing was said to stand packed";
  }
}

/// Rows by input row: the same row of `in` must give the same bits whatever stands around it.
TEST_P(LinearTest, GivesTheSameBitsWhateverElseIsInTheStep) {
  constexpr std::int32_t kRows = 35;  // as many as go by tiles whatever the type
  for (const DType dtype : kWeightTypes) {
    if (!has_own_product(dtype)) continue;
    for (const bool gated : {false, true}) {
      // More than one step, as pairs too, and an odd number of pairs whose last one is half.
      const std::int64_t inputs = in_blocks(dtype, 545);
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
    if (!has_own_product(dtype)) continue;
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

/// Numbers that end where the memory does: whoever touches what is behind them is stopped.
class NumbersAtTheEnd {
 public:
  explicit NumbersAtTheEnd(std::int64_t count)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        memory_(::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0)) {
    EXPECT_NE(memory_, MAP_FAILED);
    auto* end = static_cast<std::byte*>(memory_) + page_;
    EXPECT_EQ(::mprotect(end, page_, PROT_NONE), 0);
    data_ = reinterpret_cast<float*>(end) - count;
  }
  NumbersAtTheEnd(const NumbersAtTheEnd&) = delete;
  NumbersAtTheEnd& operator=(const NumbersAtTheEnd&) = delete;
  ~NumbersAtTheEnd() { ::munmap(memory_, 2 * page_); }

  [[nodiscard]] float* data() const { return data_; }

 private:
  std::size_t page_;
  void* memory_;
  float* data_;
};

/// Which may be another thread's, or nobody's.
TEST_P(PlainLinearTest, TouchesNothingBehindTheLastOutput) {
  for (const std::int64_t outputs : {1, 2, 3, 5, 7, 15, 17, 37}) {
    const RandomMatrix matrix(DType::kF32, outputs, 8, 3);
    const PackedWeight weight = pack(matrix);
    RowBuffer in(1, 8);
    in.randomize(1);
    const NumbersAtTheEnd out(outputs);
    const NumbersAtTheEnd bias(outputs);
    const NumbersAtTheEnd residual(outputs);
    const LinearParams params{.in = in.rows(),
                              .weight = &weight,
                              .bias = bias.data(),
                              .residual = {residual.data(), 1, outputs, outputs},
                              .out = {out.data(), 1, outputs, outputs}};
    run(params);
    EXPECT_TRUE(agrees(params, matrix)) << outputs;
  }
}

TEST_P(PlainLinearTest, DoesNotReadOrWriteOtherRowsThanAskedFor) {
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
    if (!has_own_product(dtype)) continue;
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
TEST_P(PlainLinearTest, ActivatesToFourUnitsInTheLastPlace) {
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
         .spec = {.activation = activation, .xielu = kXielu},
         .out = {out.data(), count, 1, 1}});
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double expected = test::activate(activation, kXielu, numbers[i]);
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

INSTANTIATE_TEST_SUITE_P(EveryTarget, PlainLinearTest,
                         testing::ValuesIn(targets_with_plain_products()),
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
  alignas(64) std::array<std::byte, 64> memory{};
  const std::span small(memory);
  EXPECT_THROW(linear(good, {}, small), InternalError);
}

#endif

}  // namespace
}  // namespace weft
