#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/linear/linear_library_cuda.h"
#include "weft/kernels/linear/linear_table_cuda.h"
#include "weft/tests/kernels/linear/linear_cases.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda {
namespace {

void succeed(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }

std::int64_t bytes_of_one(DType dtype) {
  if (dtype == DType::kQ8_0) return 1;
  return dtype == DType::kF32 ? 4 : 2;
}

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// Bytes on the device with a copy on the host.
class Mirror {
 public:
  explicit Mirror(std::int64_t bytes) : host_(static_cast<std::size_t>(bytes)) {
    succeed(cudaMalloc(&device_, host_.size() + 1));
  }
  ~Mirror() { cudaFree(device_); }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  void* host() { return host_.data(); }
  void* device() { return device_; }
  std::int64_t size() const { return static_cast<std::int64_t>(host_.size()); }
  void upload() {
    succeed(cudaMemcpy(device_, host_.data(), host_.size(), cudaMemcpyHostToDevice));
  }
  void download() {
    succeed(cudaMemcpy(host_.data(), device_, host_.size(), cudaMemcpyDeviceToHost));
  }
  void fill(int byte) {
    std::memset(host_.data(), byte, host_.size());
    upload();
  }

 private:
  std::vector<std::byte> host_;
  void* device_ = nullptr;
};

using test::After;

struct Case {
  LinearWay way = LinearWay::kVector;
  DType dtype = DType::kBF16;
  bool gated = false;
  After after = After::kNothing;
  DType out = DType::kF32;
  std::int64_t outputs = 100;
  std::int64_t inputs = 72;
  bool gathered = false;
};

std::ostream& operator<<(std::ostream& to, const Case& c) {
  return to << to_string(c.way) << ' ' << to_string(c.dtype) << (c.gated ? " gated" : "")
            << " after " << static_cast<int>(c.after) << " to " << to_string(c.out) << " ["
            << c.outputs << ", " << c.inputs << ']' << (c.gathered ? " gathered" : "");
}

std::mt19937 make_random() { return std::mt19937(7); }

std::int32_t processors() {
  int count = 0;
  succeed(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

/// The engine and its workspace: one for all, so that calls find what others left.
struct Bench {
  LinearEngine engine;
  Mirror workspace{
      static_cast<std::int64_t>(cuda_linear_workspace_bytes(processors(), kMaxFlatTokens))};
  Bench() { workspace.fill(0); }
};

Bench& shared_bench() {
  static Bench* const bench = new Bench;  // outlives the tests, as the driver does
  return *bench;
}

/// A weight, rows to multiply it with and all that follows; rows of `in` beyond the first `rows`
/// and columns beyond K are NaN.
class Product {
 public:
  Product(const Case& c, std::int64_t rows)
      : case_(c),
        rows_(rows),
        in_rows_(c.gathered ? rows + 5 : rows),
        stride_(round_up(c.inputs, 64)),
        out_stride_(round_up(c.outputs, 64) + 64),
        weight_(weight_rows() * stride_ * bytes_of_one(c.dtype)),
        scales_(c.dtype == DType::kQ8_0 ? weight_rows() * (c.inputs / 32) * 2 : 0),
        in_((in_rows_ + 3) * stride_ * bytes_of_one(in_dtype())),
        bias_(2 * c.outputs * 4),
        residual_((rows + 1) * out_stride_ * 4),
        out_((rows + 1) * out_stride_ * bytes_of_one(c.out)),
        indices_(rows * 4) {
    std::mt19937 random = make_random();
    fill_weight(random);
    fill_input(random);
    fill(random, bias_, 0.5F);
    fill(random, residual_, 1.0F);
    auto* index = static_cast<std::int32_t*>(indices_.host());
    for (std::int64_t i = 0; i < rows; ++i) index[i] = static_cast<std::int32_t>(in_rows_ - 1 - i);
    indices_.upload();
  }

  void run() {
    out_.fill(0xff);
    if (case_.after == After::kResidualInPlace) {
      succeed(cudaMemcpy(out_.device(), residual_.device(), static_cast<std::size_t>(out_.size()),
                         cudaMemcpyDeviceToDevice));
    }
    ASSERT_EQ(shared_bench().engine.run(params(true), nullptr), Status::kSuccess) << case_;
    succeed(cudaDeviceSynchronize());
    out_.download();
  }

  CudaLinearParams params(bool device) {
    const auto at = [device](Mirror& of) { return device ? of.device() : of.host(); };
    CudaLinearParams to;
    to.rows = rows_;
    to.in = {at(in_), in_dtype(), case_.inputs, stride_, in_rows_ + 3};
    to.weight.data = static_cast<const std::byte*>(at(weight_));
    to.weight.scales = static_cast<const std::byte*>(at(scales_));
    to.weight.dtype = case_.dtype;
    to.weight.outputs = case_.outputs;
    to.weight.inputs = case_.inputs;
    to.weight.stride = stride_;
    to.weight.gated = case_.gated;
    to.out = {at(out_), case_.out, case_.outputs, out_stride_, rows_ + 1};
    to.way = case_.way;
    to.workspace = static_cast<std::byte*>(shared_bench().workspace.device());
    if (case_.gathered) to.input_rows = static_cast<const std::int32_t*>(at(indices_));
    to.spec = test::spec_after(case_.after, case_.gated);
    if (test::has_bias(case_.after)) to.bias = static_cast<const float*>(at(bias_));
    if (test::has_residual(case_.after)) {
      to.residual = {at(residual_), DType::kF32, case_.outputs, out_stride_, rows_ + 1};
    }
    if (device && case_.after == After::kResidualInPlace) to.residual.data = out_.device();
    return to;
  }

  /// As it is, but for its input: what `before` gives.
  CudaLinearParams params_after(Product& before) {
    CudaLinearParams to = params(true);
    to.in = before.params(true).out;
    return to;
  }

  void forget_output() { out_.fill(0xff); }
  std::vector<std::byte> output() {
    out_.download();
    const auto* begin = static_cast<const std::byte*>(out_.host());
    return {begin, begin + out_.size()};
  }

  /// Every `step`th output of each row against float64; the rest of `out` is as it was.
  void check(std::int64_t step = 1) {
    const CudaLinearParams reference = params(false);
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t n = row % step; n < case_.outputs; n += step) {
        const double want = test::linear_output(reference, row, n);
        const double got = out(row, n);
        ASSERT_LE(std::abs(got - want), tolerance(want))
            << case_ << " M " << rows_ << " at " << row << ", " << n << ": " << got << " for "
            << want;
      }
      ASSERT_TRUE(case_.after == After::kResidualInPlace || std::isnan(out(row, case_.outputs)))
          << case_ << ": column N is written";
    }
    ASSERT_TRUE(case_.after == After::kResidualInPlace || std::isnan(out(rows_, 0)))
        << case_ << ": row M is written";
  }

  double out(std::int64_t row, std::int64_t n) {
    return test::number_at(out_.host(), case_.out, row * out_stride_ + n);
  }

  bool same_row(Product& other, std::int64_t row) {
    const std::int64_t bytes = case_.outputs * bytes_of_one(case_.out);
    const std::int64_t at = row * out_stride_ * bytes_of_one(case_.out);
    return std::memcmp(static_cast<std::byte*>(out_.host()) + at,
                       static_cast<std::byte*>(other.out_.host()) + at,
                       static_cast<std::size_t>(bytes)) == 0;
  }

 private:
  bool quantized() const { return case_.dtype == DType::kQ8_0; }
  DType in_dtype() const { return quantized() ? DType::kF32 : case_.dtype; }

  std::int64_t weight_rows() const {
    DeviceMatrix weight;
    weight.outputs = case_.outputs;
    weight.gated = case_.gated;
    return weight.rows();
  }

  double tolerance(double want) const {
    const double sums = case_.way == LinearWay::kVector ? 1e-5 : 5e-5;
    const double rounding = case_.out == DType::kF32   ? 0
                            : case_.out == DType::kF16 ? 0x1p-11
                                                       : 0x1p-8;
    return sums + rounding * std::abs(want);
  }

  static void fill(std::mt19937& random, Mirror& numbers, float most) {
    std::uniform_real_distribution<float> draw(-most, most);
    auto* at = static_cast<float*>(numbers.host());
    for (std::int64_t i = 0; i < numbers.size() / 4; ++i) at[i] = draw(random);
    numbers.upload();
  }

  void fill_weight(std::mt19937& random) {
    const float most = 2 / std::sqrt(static_cast<float>(case_.inputs));
    std::uniform_real_distribution<float> draw(-most, most);
    for (std::int64_t row = 0; row < weight_rows(); ++row) {
      const bool used = !case_.gated || row / 16 * 8 + row % 8 < case_.outputs;
      for (std::int64_t k = 0; k < case_.inputs && used; ++k) {
        const float value = draw(random);
        const std::int64_t at = row * stride_ + k;
        if (quantized()) {
          static_cast<std::int8_t*>(weight_.host())[at] =
              static_cast<std::int8_t>(std::lround(value / most * 127));
        } else {
          test::store_number(weight_.host(), case_.dtype, at, static_cast<double>(value));
        }
      }
    }
    for (std::int64_t i = 0; i < scales_.size() / 2; ++i) {
      const float scale = most / 127 * (1 + 0.25F * static_cast<float>(i % 3));
      test::store_number(scales_.host(), DType::kF16, i, static_cast<double>(scale));
    }
    weight_.upload();
    scales_.upload();
  }

  void fill_input(std::mt19937& random) {
    std::uniform_real_distribution<double> draw(-1, 1);
    for (std::int64_t row = 0; row < in_rows_ + 3; ++row) {
      for (std::int64_t k = 0; k < stride_; ++k) {
        const bool used = row < in_rows_ && k < case_.inputs;
        const double value = used ? draw(random) : std::numeric_limits<double>::quiet_NaN();
        test::store_number(in_.host(), in_dtype(), row * stride_ + k, value);
      }
    }
    in_.upload();
  }

  Case case_;
  std::int64_t rows_;
  std::int64_t in_rows_;
  std::int64_t stride_;
  std::int64_t out_stride_;
  Mirror weight_;
  Mirror scales_;
  Mirror in_;
  Mirror bias_;
  Mirror residual_;
  Mirror out_;
  Mirror indices_;
};

bool fits(const Case& c, std::int64_t rows) {
  DeviceMatrix weight;
  weight.data = reinterpret_cast<const std::byte*>(&c);
  weight.scales = weight.data;
  weight.dtype = c.dtype;
  weight.outputs = c.outputs;
  weight.inputs = c.inputs;
  weight.stride = round_up(c.inputs, 64);
  weight.gated = c.gated;
  return can(c.way, weight, rows);
}

/// How many products were compared; none where the way cannot do any of them.
int sweep(Case c, std::span<const std::int64_t> row_counts) {
  int compared = 0;
  for (const std::int64_t rows : row_counts) {
    if (!fits(c, rows)) continue;
    Product product(c, rows);
    product.run();
    product.check();
    ++compared;
    if (testing::Test::HasFatalFailure()) break;
  }
  return compared;
}

class LinearCudaTest : public testing::TestWithParam<LinearWay> {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
    if (!fits(some(DType::kBF16), 1)) GTEST_SKIP() << "not on this GPU";
  }

  static Case some(DType dtype) { return {.way = GetParam(), .dtype = dtype}; }

  static std::vector<DType> dtypes() {
    if (GetParam() != LinearWay::kVector) return {DType::kBF16, DType::kF16};
    return {DType::kF32, DType::kBF16, DType::kF16, DType::kQ8_0};
  }
};

TEST_P(LinearCudaTest, AgreesWithFloat64ForEveryNumberOfRows) {
  for (const DType dtype : dtypes()) {
    for (const bool gated : {false, true}) {
      Case c = some(dtype);
      c.gated = gated;
      c.inputs = dtype == DType::kQ8_0 ? 96 : 72;
      EXPECT_GT(sweep(c, test::kEveryRowCount), 0) << c;
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(LinearCudaTest, DoesAllThatCanFollowTheProduct) {
  constexpr std::int64_t kRows[] = {1, 9, 33, 128, 300};
  for (const After after : test::kEveryAfter) {
    for (const bool gated : {false, true}) {
      for (const DType out : {DType::kF32, DType::kF16, DType::kBF16}) {
        if (after == After::kResidualInPlace && out != DType::kF32) continue;
        Case c = some(DType::kBF16);
        c.gated = gated;
        c.after = after;
        c.out = out;
        sweep(c, kRows);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(LinearCudaTest, DoesNotCareHowSizesFitItsTiles) {
  constexpr std::int64_t kRows[] = {1, 8, 33};
  for (const DType dtype : dtypes()) {
    for (const std::int64_t outputs : {1, 9, 127, 129, 1000}) {
      for (const std::int64_t inputs : {32, 160, 2048}) {
        Case c = some(dtype);
        c.outputs = outputs;
        c.inputs = dtype == DType::kQ8_0 ? inputs : inputs - 1;
        c.gated = outputs % 2 == 0;
        sweep(c, kRows);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(LinearCudaTest, MultipliesTheRowsThatItIsGiven) {
  constexpr std::int64_t kRows[] = {1, 9, 64, 128, 300};
  for (const DType dtype : dtypes()) {
    Case c = some(dtype);
    c.gathered = true;
    c.inputs = 320;
    c.after = After::kEverything;
    sweep(c, kRows);
    if (HasFatalFailure()) return;
  }
}

TEST_P(LinearCudaTest, MultipliesAMatrixOfAModelsSize) {
  Case c = some(DType::kBF16);
  c.outputs = 4096;
  c.inputs = 11008;
  c.after = After::kResidualInPlace;
  for (const std::int64_t rows : {1, 16, 128}) {
    Product product(c, rows);
    product.run();
    product.check(131);
  }
}

TEST_P(LinearCudaTest, GivesTheSameBitsAgainWithTheSameWorkspace) {
  Case c = some(DType::kBF16);
  c.outputs = 2048;
  c.inputs = 4096;
  Product first(c, 16);
  Product second(c, 16);
  first.run();
  for (int i = 0; i < 10; ++i) {
    second.run();
    for (std::int64_t row = 0; row < 16; ++row) ASSERT_TRUE(first.same_row(second, row)) << row;
  }
}

// As in a model's step: one may begin while the one before it ends, and all share a workspace.
TEST_P(LinearCudaTest, GivesTheSameBitsInAChainAsOneByOne) {
  Case wide = some(DType::kBF16);
  wide.out = DType::kBF16;
  wide.outputs = 4096;
  wide.inputs = 2048;
  Case narrow = wide;
  std::swap(narrow.outputs, narrow.inputs);
  cudaStream_t stream = nullptr;
  succeed(cudaStreamCreate(&stream));
  for (const std::int64_t rows : {1, 8, 32, 64}) {
    Product first(wide, rows);
    Product second(narrow, rows);
    Product third(wide, rows);
    first.forget_output();
    second.forget_output();
    third.forget_output();
    const CudaLinearParams chain[] = {first.params(true), second.params_after(first),
                                      third.params_after(second)};
    for (const CudaLinearParams& params : chain) {
      ASSERT_EQ(shared_bench().engine.run(params, stream), Status::kSuccess);
      succeed(cudaDeviceSynchronize());
    }
    const std::vector<std::byte> wanted = third.output();
    for (int i = 0; i < 10; ++i) {
      // A product that reads too early finds no number.
      first.forget_output();
      second.forget_output();
      third.forget_output();
      for (const CudaLinearParams& params : chain) {
        ASSERT_EQ(shared_bench().engine.run(params, stream), Status::kSuccess);
      }
      succeed(cudaDeviceSynchronize());
      ASSERT_TRUE(third.output() == wanted) << "M " << rows;
    }
  }
  succeed(cudaStreamDestroy(stream));
}

TEST_P(LinearCudaTest, GivesARowTheSameBitsAmongAnyNumberOfRows) {
  if (GetParam() == LinearWay::kLibrary) GTEST_SKIP() << "the library promises nothing of it";
  for (const bool gated : {false, true}) {
    Case c = some(DType::kBF16);
    c.outputs = 1500;
    c.inputs = 4096;
    c.gated = gated;
    Product most(c, 128);
    most.run();
    for (const std::int64_t rows : {1, 2, 4, 8, 16, 32, 64, 100}) {
      Product product(c, rows);
      product.run();
      for (std::int64_t row = 0; row < rows; ++row) {
        ASSERT_TRUE(product.same_row(most, row)) << c << " M " << rows << " row " << row;
      }
    }
  }
}

TEST_P(LinearCudaTest, RefusesParametersThatDoNotFit) {
  const auto refused = [](auto change) {
    Product product(some(DType::kBF16), 4);
    CudaLinearParams params = product.params(true);
    change(params);
    return shared_bench().engine.run(params, nullptr) == static_cast<Status>(cudaErrorInvalidValue);
  };
  EXPECT_TRUE(refused([](CudaLinearParams& p) { p.in.width -= 1; }));
  EXPECT_TRUE(refused([](CudaLinearParams& p) { p.in.dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](CudaLinearParams& p) { p.out.capacity = 3; }));
  EXPECT_TRUE(refused([](CudaLinearParams& p) { p.out.data = nullptr; }));
  EXPECT_TRUE(refused([](CudaLinearParams& p) { p.weight.data = nullptr; }));
  EXPECT_TRUE(refused([](CudaLinearParams& p) { p.weight.dtype = DType::kI8; }));
  EXPECT_TRUE(refused([](CudaLinearParams& p) { p.rows = -1; }));
}

// Without kFlatFetched, which takes up to 32 rows and has tests of its own
// (linear_norm_cuda_test.cc).
INSTANTIATE_TEST_SUITE_P(ways, LinearCudaTest,
                         testing::Values(LinearWay::kVector, LinearWay::kFlat, LinearWay::kLibrary),
                         [](const auto& way) { return std::string(to_string(way.param)); });

// Needs no GPU: the functions are those of the library that this was compiled for.
TEST(LinearLibraryTest, IsThereWithAllItsFunctions) {
  for (int again = 0; again < 2; ++again) {
    const auto loaded = load_linear_library();
    EXPECT_TRUE(loaded) << to_string(loaded.error());
  }
}

}  // namespace
}  // namespace weft::cuda
