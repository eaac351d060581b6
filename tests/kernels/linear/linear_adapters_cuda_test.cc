// Products that compute what adapters add to them (ProductAdapters).

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/tests/kernels/adapter/adapter_cuda_fixture.h"
#include "weft/tests/kernels/linear/linear_reference.h"
#include "weft/tests/kernels/linear/plain_matrix.h"

namespace weft::cuda {
namespace {

/// A step's product: its sites are runs of outputs, one behind the other.
struct Shape {
  std::vector<AdapterTestSite> sites;
  std::int32_t rows = 1;
  std::int32_t rank = 16;
  /// First site of this product: earlier sites belong to products with the same input.
  std::int32_t first_site = 0;
  float scale = 0.5F;  ///< scale of the adapters; outputs stay about 1
};

class AdaptedProductCudaTest : public AdapterCudaTest {
 protected:
  void SetUp() override {
    AdapterCudaTest::SetUp();
    if (IsSkipped()) return;
    PlainMatrix any(64, 64, false, engine_);
    if (!can(LinearWay::kFlat, any.on(true), 1)) GTEST_SKIP() << "the GPU is none of sm_90";
    linear_.emplace();
  }

  /// Compares a product of rows with adapters, and of rows without, with the reference. Twice, as
  /// the second finds what the first leaves. Returns the outputs.
  std::vector<double> expect_reference(const Shape& shape, LinearWay way,
                                       const DeviceMatrix& device, const DeviceMatrix& host,
                                       double tolerance, bool with_norms = false) {
    SCOPED_TRACE(testing::Message() << shape.rows << " rows, rank " << shape.rank);
    const auto count = static_cast<std::int32_t>(shape.sites.front().ranks.size());
    const std::int32_t most = most_adapter_tasks(shape.rows, count);
    AdapterPlaces places = this->places(shape.sites, device.inputs, shape.scale);
    AdapterTasks tasks = this->tasks(shape.rows, count);
    RowsPair in = RowsPair::random(shape.rows, device.inputs, DType::kBF16, engine_);
    RowsPair residual = RowsPair::random(shape.rows, device.outputs, DType::kF32, engine_);
    RowsPair out = RowsPair::poisoned(shape.rows, device.outputs);
    Mirror<float> bias = floats(2 * device.outputs);
    Mirror<float> squares = floats(shape.rows * (device.inputs / kSquaredOutputs), 0.1F);
    CudaLinearParams params{.rows = shape.rows, .way = way};
    const float adapters_size = 2 * shape.scale;
    params.spec.scale = 0.5F / adapters_size;
    if (device.gated) {
      params.spec.activation = Activation::kSilu;
      params.spec.scale /= adapters_size;
    }
    Mirror<std::byte> workspace(
        std::vector<std::byte>(cuda_linear_workspace_bytes(256, shape.rows)));
    params.workspace = workspace.device();
    ProductAdapters& adapters = params.adapters;
    adapters.sites = static_cast<std::int32_t>(shape.sites.size());
    adapters.rank = shape.rank;
    std::int64_t outputs = 0;
    for (std::int32_t site = shape.first_site; site < adapters.sites; ++site) {
      AdapterRun& run = adapters.runs[adapters.run_count++];
      run.site = site;
      run.low = site * shape.rank;
      run.outputs = shape.sites[static_cast<std::size_t>(site)].outputs;
      run.first_output = outputs;
      outputs += run.outputs;
    }
    const std::int64_t sums_count = std::int64_t{product_adapter_slices(device.inputs)} *
                                    shape.rows * adapters.sites * shape.rank;
    Mirror<float> sums(std::vector<float>(static_cast<std::size_t>(sums_count), std::nanf("")));
    Mirror<unsigned> meeting(std::vector<unsigned>(1));
    adapters.sums = sums.device();
    adapters.meeting = meeting.device();
    const auto set = [&](bool on_device) {
      params.in = on_device ? in.device() : in.host();
      params.residual = on_device ? residual.device() : residual.host();
      params.out = on_device ? out.device() : out.host();
      params.bias = on_device ? bias.device() : bias.host.data();
      params.weight = on_device ? device : host;
      if (with_norms)
        params.norm_before = {on_device ? squares.device() : squares.host.data(), 1e-5F};
      adapters.tasks = tasks.on(on_device, most);
      adapters.places = places.on(on_device);
    };
    set(true);
    for (int i = 0; i < 2; ++i)
      expect_runs([&](Stream stream) { return linear_->run(params, stream); });
    set(false);
    weft::test::linear_reference(params);
    out.expect_close(tolerance);
    return out.fetch(shape.rows);
  }

  void expect_plain(const Shape& shape, std::int64_t inputs, bool gated = false,
                    bool with_norms = false) {
    std::int64_t outputs = 0;
    for (std::size_t i = static_cast<std::size_t>(shape.first_site); i < shape.sites.size(); ++i)
      outputs += shape.sites[i].outputs;
    PlainMatrix matrix(gated ? outputs / 2 : outputs, inputs, gated, engine_);
    expect_reference(shape, LinearWay::kFlat, matrix.on(true), matrix.on(false), 1e-3, with_norms);
  }

  std::optional<LinearEngine> linear_;
};

TEST_F(AdaptedProductCudaTest, FlatProductsAddAdaptersOfSeveralRowsAndOfNone) {
  for (const std::int32_t rows : {1, 2, 9, 17, 32}) {
    expect_plain({.sites = {{256, {16, 0, 8}}, {64, {4, 16, 0}}, {64, {16, 16, 16}}}, .rows = rows},
                 512);
  }
}

TEST_F(AdaptedProductCudaTest, FlatProductsAddOneAdapterToManyRows) {
  expect_plain({.sites = {{192, {16}}}, .rows = 32}, test_size<std::int64_t>(14336, 544));
}

TEST_F(AdaptedProductCudaTest, FlatProductsHaveRanksOfSeveralTiles) {
  expect_plain({.sites = {{128, {64, 20}}, {64, {33, 0}}}, .rows = 7, .rank = 64}, 320);
}

TEST_F(AdaptedProductCudaTest, FlatProductsAddToGatesAndUps) {
  for (const std::int64_t gates : {64, 192}) {
    expect_plain({.sites = {{gates, {8, 16}}, {gates, {16, 0}}}, .rows = 5}, 288, true, true);
  }
}

TEST_F(AdaptedProductCudaTest, FlatProductsEndInsideATileAndShareTheirInput) {
  expect_plain({.sites = {{64, {16, 8}}, {90, {16, 16}}}, .rows = 3, .first_site = 1}, 96);
}

TEST_F(AdaptedProductCudaTest, RefusesRowsAndRunsThatItsWayDoesNotTake) {
  PlainMatrix matrix(128, 64, false, engine_);
  const DeviceMatrix weight = matrix.on(true);
  const EpilogueSteps steps{.adapters = true};
  EXPECT_TRUE(can(LinearWay::kFlat, weight, kMaxAdaptedTokens, steps));
  EXPECT_FALSE(can(LinearWay::kFlat, weight, kMaxAdaptedTokens + 1, steps));
  EXPECT_FALSE(can(LinearWay::kVector, weight, 1, steps));
  EXPECT_FALSE(can(LinearWay::kFlatFetched, weight, 1, steps));
  AdapterRun runs[2];
  runs[1].first_output = 64;
  EXPECT_TRUE(begin_evenly(runs, 2));
  runs[1].first_output = 72;
  EXPECT_FALSE(begin_evenly(runs, 2));
  EXPECT_FALSE(begin_evenly(runs, 0));
}

}  // namespace
}  // namespace weft::cuda
