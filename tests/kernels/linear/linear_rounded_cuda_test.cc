// Products of rows and weights that are both codes of FP8.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/encoding/block_matrix.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda {
namespace {

constexpr std::size_t kGroup = 128;  // columns under one scale

/// Numbers as kRounded rounds them: the greatest of 128 becomes 448, the greatest of e4m3.
std::vector<float> rounded_rows(std::vector<float> numbers) {
  for (std::size_t first = 0; first < numbers.size(); first += kGroup) {
    float greatest = 0;
    for (std::size_t i = first; i < first + kGroup; ++i) {
      greatest = std::max(greatest, std::abs(numbers[i]));
    }
    const float scale = greatest / 448;
    const float times = greatest > 0 ? 448 / greatest : 0;
    for (std::size_t i = first; i < first + kGroup; ++i) {
      const float number = std::clamp(numbers[i] * times, -448.0F, 448.0F);
      numbers[i] = from_e4m3(to_e4m3(number)) * scale;
    }
  }
  return numbers;
}

/// A product with rows of bf16 on both sides. The host's rows are rounded.
class RoundedProduct {
 public:
  RoundedProduct(std::vector<float> numbers, const BlockMatrix& blocks, DType out = DType::kF32)
      : rows_(std::ssize(numbers) / kBlockInputs),
        blocks_(blocks),
        in_(RowsPair::of(rows_, kBlockInputs, numbers, DType::kBF16)),
        rounded_(RowsPair::of(rows_, kBlockInputs, rounded_rows(std::move(numbers)))),
        out_(RowsPair::poisoned(rows_, blocks.on(true).outputs, out)),
        workspace_(std::vector<std::byte>(cuda_linear_workspace_bytes(kProcessors, rows_))) {}

  [[nodiscard]] CudaLinearParams params(bool device) {
    CudaLinearParams made;
    made.rows = rows_;
    made.in = device ? in_.device() : rounded_.host();
    made.weight = blocks_.on(device);
    made.out = device ? out_.device() : out_.host();
    // Outputs are about 1: a gated one is the product of two sums.
    made.spec.scale = made.weight.gated ? 1.0F / (64 * 64) : 1.0F / 64;
    made.way = LinearWay::kRounded;
    made.workspace = workspace_.device();
    return made;
  }

  void expect_reference() {
    weft::test::linear_reference(params(false));
    // Tensor cores keep some 14 bits of the greatest number that they add, and cut off the rest. An
    // H200 was off by up to 0.0025 in a million sums; a gated output has the error of each of its
    // two sums times the other sum.
    out_.expect_close(blocks_.on(true).gated ? 1.2e-2 : 4e-3);
  }

  RowsPair& out() { return out_; }

 private:
  static constexpr std::int32_t kProcessors = 256;  // no GPU has more

  std::int64_t rows_;
  const BlockMatrix& blocks_;
  RowsPair in_;
  RowsPair rounded_;
  RowsPair out_;
  Mirror<std::byte> workspace_;
};

class RoundedCudaTest : public OpsCudaTest {
 protected:
  void SetUp() override {
    OpsCudaTest::SetUp();
    if (IsSkipped()) return;
    const BlockMatrix any = matrix(64);
    if (!can(LinearWay::kRounded, any.on(true), 1)) GTEST_SKIP() << "the GPU is none of sm_90";
    linear_.emplace();
  }

  BlockMatrix matrix(std::int64_t outputs, DType dtype = DType::kF8_128, bool gated = false) {
    return {{{dtype, gated ? 2 * outputs : outputs}}, gated, true, engine_};
  }

  /// Numbers of bf16.
  std::vector<float> numbers(std::int64_t rows) {
    std::normal_distribution<float> normal;
    std::vector<float> made(static_cast<std::size_t>(rows * kBlockInputs));
    for (float& number : made) number = from_bf16(to_bf16(normal(engine_)));
    return made;
  }

  void expect_product(std::int64_t rows, const BlockMatrix& blocks) {
    const DeviceMatrix& weight = blocks.on(true);
    SCOPED_TRACE(testing::Message() << rows << " rows, " << to_string(weight.dtype) << ", "
                                    << weight.outputs << (weight.gated ? " gated" : ""));
    RoundedProduct product(numbers(rows), blocks);
    const auto run = [&](Stream stream) { return linear_->run(product.params(true), stream); };
    expect_runs(run);
    expect_runs(run);  // counters are left as they were found
    product.expect_reference();
  }

  std::optional<LinearEngine> linear_;
};

TEST_F(RoundedCudaTest, MultipliesRoundedRowsByWeightsOfFloats) {
  for (const DType dtype : {DType::kF8_128, DType::kF8_256}) {
    for (const bool gated : {false, true}) {
      for (const std::int64_t outputs : test_sizes<std::int64_t>({64, 320}, {64})) {
        const BlockMatrix blocks = matrix(outputs, dtype, gated);
        for (const std::int64_t rows :
             test_sizes<std::int64_t>({1, 31, 33, 64, 65, 128, 129, 200, 300}, {1, 33})) {
          expect_product(rows, blocks);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(RoundedCudaTest, MultipliesByTilesOfEverySize) {
  const BlockMatrix blocks = matrix(test_size(1088, 320));
  for (const std::int64_t rows : test_sizes<std::int64_t>({129, 192, 400, 1000}, {70, 129})) {
    expect_product(rows, blocks);
  }
}

TEST_F(RoundedCudaTest, AddsBiasesAndResidualsAndTakesTheRowsThatItIsTold) {
  constexpr std::int64_t kRows = 5;
  const BlockMatrix blocks = matrix(192);
  const std::vector<float> all = numbers(kRows);
  const Mirror<std::int32_t> chosen(std::vector<std::int32_t>{4, 0, 3});
  Mirror<float> bias = floats(192);
  RowsPair residual = RowsPair::random(kRows, 192, DType::kF32, engine_);
  RoundedProduct product(all, blocks, DType::kBF16);
  const auto params = [&](bool device) {
    CudaLinearParams made = product.params(device);
    made.rows = std::ssize(chosen.host);
    made.input_rows = device ? chosen.device() : chosen.host.data();
    made.bias = device ? bias.device() : bias.host.data();
    made.residual = device ? residual.device() : residual.host();
    made.spec.activation = Activation::kSilu;
    return made;
  };
  expect_runs([&](Stream stream) { return linear_->run(params(true), stream); });
  weft::test::linear_reference(params(false));
  product.out().expect_close(1e-3);
}

TEST_F(RoundedCudaTest, RoundsRowsOfZerosAndOfNumbersThatDifferMuch) {
  constexpr std::int64_t kRows = 3;
  std::vector<float> all = numbers(kRows);
  std::fill_n(all.begin(), kBlockInputs, 0.0F);
  for (std::size_t i = kBlockInputs; i < all.size(); ++i) {
    const float times = i % 7 == 0 ? 0x1p-20F : i % 100 == 0 ? 0x1p10F : 1.0F;
    all[i] = from_bf16(to_bf16(all[i] * times));
  }
  const BlockMatrix blocks = matrix(64);
  RoundedProduct product(all, blocks);
  expect_runs([&](Stream stream) { return linear_->run(product.params(true), stream); });
  product.expect_reference();
}

TEST_F(RoundedCudaTest, MakesNothingFiniteOfARowWithAnInfiniteNumberAndKeepsItsNeighbours) {
  constexpr std::int64_t kRows = 3;
  constexpr std::size_t kOutputs = 64;
  for (const float strange : {INFINITY, NAN}) {
    std::vector<float> all = numbers(kRows);
    all[kBlockInputs + 300] = strange;
    const BlockMatrix blocks = matrix(kOutputs);
    RoundedProduct product(all, blocks);
    expect_runs([&](Stream stream) { return linear_->run(product.params(true), stream); });
    const std::vector<double> out = product.out().fetch(kRows);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::isfinite(out[i]), i / kOutputs != 1) << strange << ", " << i;
    }
  }
}

TEST_F(RoundedCudaTest, ComputesARowAlikeBesideAnyNumberOfRowsOfItsRange) {
  struct Range {
    std::int64_t all;
    std::vector<std::int64_t> fewer;
  };
  const Range ranges[] = {{128, test_sizes<std::int64_t>({1, 32, 33, 65, 100}, {1, 33})},
                          {test_size(1000, 300), test_sizes<std::int64_t>({129, 192, 300}, {129})}};
  constexpr std::int64_t kOutputs = test_size(4160, 192);
  const BlockMatrix blocks = matrix(kOutputs);
  for (const Range& range : ranges) {
    RoundedProduct product(numbers(range.all), blocks);
    expect_runs([&](Stream stream) { return linear_->run(product.params(true), stream); });
    for (const std::int64_t rows : range.fewer) {
      RowsPair out = RowsPair::poisoned(rows, kOutputs);
      CudaLinearParams params = product.params(true);
      params.rows = rows;
      params.out = out.device();
      expect_runs([&](Stream stream) { return linear_->run(params, stream); });
      EXPECT_EQ(out.fetch(rows), product.out().fetch(rows)) << rows;
    }
  }
}

TEST_F(RoundedCudaTest, CannotMultiplyOtherMatricesOrMoreRows) {
  const BlockMatrix floats = matrix(64);
  const BlockMatrix integers = matrix(64, DType::kI4_128);
  const BlockMatrix unboxed({{DType::kF8_128, 64}}, false, false, engine_);
  const BlockMatrix two({{DType::kF8_128, 64}, {DType::kF8_256, 64}}, false, true, engine_);
  EXPECT_TRUE(can(LinearWay::kRounded, floats.on(true), kMaxRoundedTokens));
  EXPECT_FALSE(can(LinearWay::kRounded, floats.on(true), kMaxRoundedTokens + 1));
  EXPECT_FALSE(can(LinearWay::kRounded, integers.on(true), 1));
  EXPECT_FALSE(can(LinearWay::kRounded, unboxed.on(true), 1));
  EXPECT_FALSE(can(LinearWay::kRounded, two.on(true), 1));
}

}  // namespace
}  // namespace weft::cuda
