// Products that compute the norm between them (NormAfter, NormBefore).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/tests/fixture/random_matrix.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/cuda/sizes_cuda.h"
#include "weft/tests/kernels/encoding/block_matrix.h"
#include "weft/tests/kernels/linear/linear_reference.h"
#include "weft/tests/kernels/linear/plain_matrix.h"

namespace weft::cuda {
namespace {

/// A product with a bias, a residual, and a norm before it, after it, both or none, on both sides.
class NormedProduct {
 public:
  struct Norms {
    bool before = true;
    bool after = true;
    bool weight = true;
    float scale = 0.5F;
    float least_bias = -1;
    DType out = DType::kF32;
  };

  NormedProduct(const DeviceMatrix& weight, std::int64_t rows, Norms norms, std::mt19937& random)
      : rows_(rows),
        norms_(norms),
        in_(RowsPair::random(rows, weight.inputs, DType::kBF16, random)),
        residual_(RowsPair::random(rows, weight.outputs, DType::kF32, random)),
        out_(RowsPair::poisoned(rows, weight.outputs, norms.out)),
        normed_(RowsPair::poisoned(rows, weight.outputs, DType::kBF16)),
        bias_(floats(2 * weight.outputs, norms.least_bias, random)),
        norm_weight_(floats(weight.outputs, -1, random)),
        squares_before_(floats(rows * (weight.inputs / kSquaredOutputs), 0.1F, random)),
        squares_after_(std::vector<float>(
            static_cast<std::size_t>(rows * (weight.outputs / kSquaredOutputs)), std::nanf(""))),
        workspace_(std::vector<std::byte>(cuda_linear_workspace_bytes(256, rows))) {}

  [[nodiscard]] CudaLinearParams params(const DeviceMatrix& weight, LinearWay way, bool device) {
    const auto of = [device](auto& mirror) {
      return device ? mirror.device() : mirror.host.data();
    };
    const auto rows_of = [device](RowsPair& rows) { return device ? rows.device() : rows.host(); };
    CudaLinearParams made;
    made.rows = rows_;
    made.in = rows_of(in_);
    made.weight = weight;
    made.bias = of(bias_);
    made.residual = rows_of(residual_);
    made.out = rows_of(out_);
    made.way = way;
    made.spec.scale = norms_.scale;
    made.workspace = workspace_.device();
    if (norms_.before) made.norm_before = {of(squares_before_), 1e-5F};
    if (norms_.after) {
      made.norm_after = {rows_of(normed_), norms_.weight ? of(norm_weight_) : nullptr,
                         norms_.weight ? 1.0F : 0.0F, of(squares_after_)};
    }
    return made;
  }

  void expect_reference(const DeviceMatrix& host, LinearWay way, double tolerance) {
    weft::test::linear_reference(params(host, way, false));
    out_.expect_close(tolerance);
    if (!norms_.after) return;
    normed_.expect_close(tolerance);
    const std::vector<float> got = squares_after_.fetch();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], squares_after_.host[i], 4 * tolerance * (1 + squares_after_.host[i]))
          << "squares " << i;
    }
  }

  [[nodiscard]] std::vector<double> numbers(std::int64_t rows) {
    std::vector<double> all = out_.fetch(rows);
    for (const double number : normed_.fetch(rows)) all.push_back(number);
    return all;
  }
  [[nodiscard]] std::vector<float> squares() const { return squares_after_.fetch(); }

  /// Whether the next product finds counters, and parts without counters, as this one did.
  [[nodiscard]] bool has_zero_counters() const {
    const std::vector<std::byte> all = workspace_.fetch();
    return std::ranges::all_of(std::span(all).first(kLinearCounterBytes),
                               [](std::byte byte) { return byte == std::byte{0}; });
  }

 private:
  static Mirror<float> floats(std::int64_t count, float low, std::mt19937& random) {
    std::vector<float> all(static_cast<std::size_t>(count));
    std::uniform_real_distribution<float> draw(low, 1);
    for (float& number : all) number = draw(random);
    return Mirror(std::move(all));
  }

  std::int64_t rows_;
  Norms norms_;
  RowsPair in_;
  RowsPair residual_;
  RowsPair out_;
  RowsPair normed_;
  Mirror<float> bias_;
  Mirror<float> norm_weight_;
  Mirror<float> squares_before_;
  Mirror<float> squares_after_;
  Mirror<std::byte> workspace_;
};

class AnyNormedProductCudaTest : public OpsCudaTest {
 protected:
  void SetUp() override {
    OpsCudaTest::SetUp();
    if (!IsSkipped()) linear_.emplace();
  }

  void run(const CudaLinearParams& params) {
    expect_runs([&](Stream stream) { return linear_->run(params, stream); });
  }

  void expect_plain(std::int64_t rows, std::int64_t outputs, std::int64_t inputs, bool gated,
                    NormedProduct::Norms norms, LinearWay way = LinearWay::kFlat) {
    SCOPED_TRACE(testing::Message()
                 << rows << " rows, " << outputs << " by " << inputs << (gated ? " gated" : ""));
    PlainMatrix matrix(outputs, inputs, gated, engine_);
    NormedProduct product(matrix.on(true), rows, norms, engine_);
    for (int i = 0; i < 2; ++i) run(product.params(matrix.on(true), way, true));
    product.expect_reference(matrix.on(false), way, 1e-3);
    EXPECT_TRUE(product.has_zero_counters());
  }

  std::optional<LinearEngine> linear_;
};

class NormedProductCudaTest : public AnyNormedProductCudaTest {
 protected:
  void SetUp() override {
    AnyNormedProductCudaTest::SetUp();
    if (IsSkipped()) return;
    PlainMatrix any(64, 64, false, engine_);
    if (!can(LinearWay::kFlat, any.on(true), 1)) GTEST_SKIP() << "the GPU is none of sm_90";
  }
};

/// Products whose weights threads fetch, on any GPU.
using FetchedProductCudaTest = AnyNormedProductCudaTest;

TEST_F(FetchedProductCudaTest, FlatProductsComputeNormsOfEveryNumberOfRows) {
  constexpr auto kWay = LinearWay::kFlatFetched;
  for (const std::int64_t rows : {1, 2, 7, 8, 9, 16, 17, 32}) {
    expect_plain(rows, 160, 224, false, {}, kWay);
    expect_plain(rows, 1056, 96, false, {.weight = false}, kWay);
    expect_plain(rows, 40, 288, true, {.after = false}, kWay);
  }
}

TEST_F(FetchedProductCudaTest, FlatProductsTakeMatricesOfEverySize) {
  constexpr NormedProduct::Norms kNone{.before = false, .after = false};
  for (const std::int64_t outputs : test_sizes<std::int64_t>({1, 31, 64, 129, 1024}, {31, 129})) {
    for (const std::int64_t inputs :
         test_sizes<std::int64_t>({1, 31, 64, 71, 160, 4096}, {1, 71, 160})) {
      for (const bool gated : {false, true}) {
        expect_plain(3, outputs, inputs, gated, kNone, LinearWay::kFlatFetched);
      }
    }
  }
}

TEST_F(FetchedProductCudaTest, ProductsByCodesComputeNorms) {
  constexpr auto kWay = LinearWay::kCodesFetched;
  for (const DType dtype : {DType::kQ4_K, DType::kI4_128, DType::kF8_128}) {
    for (const std::int64_t rows : {1, 5, 8}) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << ", " << rows << " rows");
      BlockMatrix plain({{dtype, 320}}, false, true, engine_);
      NormedProduct product(plain.on(true), rows, {}, engine_);
      for (int i = 0; i < 2; ++i) run(product.params(plain.on(true), kWay, true));
      product.expect_reference(plain.on(false), kWay, 1e-2);
    }
  }
}

TEST_F(FetchedProductCudaTest, ARowHasTheSameBitsBesideAnyNumberOfRowsOfItsRange) {
  constexpr auto kWay = LinearWay::kFlatFetched;
  PlainMatrix matrix(512, 1024, false, engine_);
  NormedProduct product(matrix.on(true), 32, {}, engine_);
  run(product.params(matrix.on(true), kWay, true));
  const std::vector<double> want = product.numbers(1);
  for (const std::int64_t rows : {17, 25, 31}) {
    CudaLinearParams params = product.params(matrix.on(true), kWay, true);
    params.rows = rows;
    run(params);
    EXPECT_EQ(product.numbers(1), want) << rows << " rows";
  }
}

TEST_F(NormedProductCudaTest, FlatProductsComputeNormsOfEveryNumberOfRows) {
  for (const std::int64_t rows : {1, 2, 7, 8, 9, 16, 17, 32, 33, 64, 65, 128}) {
    expect_plain(rows, 160, 224, false, {});
    expect_plain(rows, 1056, 96, false, {.weight = false});
    expect_plain(rows, 40, 288, true, {.after = false});
  }
}

TEST_F(NormedProductCudaTest, FlatProductsComputeNormsOfEverySize) {
  for (const std::int64_t outputs : {32, 64, 96, 128, 192, 1024}) {
    for (const std::int64_t inputs : {32, 64, 128, 160, 4096}) {
      expect_plain(3, outputs, inputs, false, {});
      expect_plain(3, outputs, inputs, false, {.before = false});
    }
  }
}

TEST_F(NormedProductCudaTest, ProductsByCodesComputeNorms) {
  for (const DType dtype : {DType::kQ4_K, DType::kI4_128, DType::kQ8_0, DType::kF8_128}) {
    for (const std::int64_t rows : {1, 5, 8}) {  // beyond, weights are rounded
      SCOPED_TRACE(testing::Message() << to_string(dtype) << ", " << rows << " rows");
      BlockMatrix plain({{dtype, 320}}, false, true, engine_);
      NormedProduct product(plain.on(true), rows, {}, engine_);
      for (int i = 0; i < 2; ++i) run(product.params(plain.on(true), LinearWay::kCodes, true));
      product.expect_reference(plain.on(false), LinearWay::kCodes, 1e-2);
      BlockMatrix gated({{dtype, 640}}, true, true, engine_);
      NormedProduct behind(gated.on(true), rows, {.after = false}, engine_);
      run(behind.params(gated.on(true), LinearWay::kCodes, true));
      behind.expect_reference(gated.on(false), LinearWay::kCodes, 1e-2);
    }
  }
}

TEST_F(NormedProductCudaTest, ProductsByCodesOfManyRowsAddTheirBiasAndResidual) {
  // Sums are small beside the bias, so that rounded weights hide no error of bias and residual.
  constexpr float kBias = 1e5F;
  for (const DType out : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t rows : test_sizes<std::int64_t>({17, 33, 128, 300}, {17, 33})) {
      SCOPED_TRACE(testing::Message() << to_string(out) << ", " << rows << " rows");
      for (const bool gated : {false, true}) {
        const NormedProduct::Norms none{.before = false,
                                        .after = false,
                                        .scale = gated ? 1 / (kBias * kBias) : 1 / kBias,
                                        .least_bias = -kBias,
                                        .out = out};
        BlockMatrix matrix({{DType::kQ4_K, gated ? 200 : 100}}, gated, true, engine_);
        NormedProduct product(matrix.on(true), rows, none, engine_);
        run(product.params(matrix.on(true), LinearWay::kCodes, true));
        product.expect_reference(matrix.on(false), LinearWay::kCodes, 2e-2);
      }
    }
  }
}

TEST_F(NormedProductCudaTest, ProductsByCodesOfSomeRowsComputeNorms) {
  // Weights are rounded for so many rows.
  for (const std::int64_t rows : {16, 17, 32}) {
    SCOPED_TRACE(testing::Message() << rows << " rows");
    BlockMatrix plain({{DType::kQ4_K, 320}}, false, true, engine_);
    NormedProduct product(plain.on(true), rows, {.scale = 1e-4F}, engine_);
    for (int i = 0; i < 2; ++i) run(product.params(plain.on(true), LinearWay::kCodes, true));
    product.expect_reference(plain.on(false), LinearWay::kCodes, 3e-2);
  }
}

TEST_F(NormedProductCudaTest, ARowHasTheSameBitsBesideAnyNumberOfRows) {
  PlainMatrix matrix(512, 4096, false, engine_);
  NormedProduct product(matrix.on(true), 128, {}, engine_);
  run(product.params(matrix.on(true), LinearWay::kFlat, true));
  const std::vector<double> want = product.numbers(1);
  const std::vector<float> squares = product.squares();
  for (const std::int64_t rows : {1, 8, 9, 17, 33, 65}) {
    CudaLinearParams params = product.params(matrix.on(true), LinearWay::kFlat, true);
    params.rows = rows;
    run(params);
    EXPECT_EQ(product.numbers(1), want) << rows << " rows";
    EXPECT_EQ(product.squares(), squares) << rows << " rows";
  }
}

TEST_F(NormedProductCudaTest, RefusesNormsThatItsWayDoesNotCompute) {
  PlainMatrix matrix(64, 64, false, engine_);
  PlainMatrix uneven(48, 80, false, engine_);
  NormedProduct product(matrix.on(true), 2, {}, engine_);
  const auto refuses = [&](const CudaLinearParams& params) {
    return linear_->run(params, nullptr) != Status::kSuccess;
  };
  EXPECT_FALSE(refuses(product.params(matrix.on(true), LinearWay::kFlat, true)));
  EXPECT_TRUE(refuses(product.params(matrix.on(true), LinearWay::kLibrary, true)));
  NormedProduct other(uneven.on(true), 2, {}, engine_);
  EXPECT_TRUE(refuses(other.params(uneven.on(true), LinearWay::kFlat, true)));
}

}  // namespace
}  // namespace weft::cuda
