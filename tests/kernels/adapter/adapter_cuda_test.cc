#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/tests/kernels/adapter/adapter_cuda_fixture.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

namespace weft::cuda {
namespace {

/// A product's shape and a step of it.
struct Case {
  std::int64_t inputs;
  std::vector<AdapterTestSite> sites;
  std::int32_t rows;
  std::int32_t rank;  ///< that places have room for
  std::int64_t gates = 0;
  bool has_residual = true;
  DType dtype = DType::kBF16;
};

class AdapterHalvesCudaTest : public AdapterCudaTest {
 protected:
  void expect_as_reference(const Case& of) {
    const auto count = static_cast<std::int32_t>(of.sites.front().ranks.size());
    AdapterPlaces places = this->places(of.sites, of.inputs);
    AdapterTasks tasks = this->tasks(of.rows, count);
    const std::int32_t most = most_adapter_tasks(of.rows, count);
    ASSERT_LE(tasks.count.host[0], most);
    const auto sites = static_cast<std::int32_t>(of.sites.size());
    RowsPair in = RowsPair::random(of.rows, of.inputs, of.dtype, engine_);
    CudaAdapterShrinkParams shrink{.rows = of.rows, .sites = sites, .rank = of.rank};
    const std::int64_t width = std::int64_t{sites} * of.rank;
    shrink.slices = adapter_slices(of.inputs, width / kAdapterTile, most);
    const std::int64_t count_of_sums = std::int64_t{shrink.slices} * of.rows * width;
    Mirror<float> sums(std::vector<float>(static_cast<std::size_t>(count_of_sums), std::nanf("")));
    ASSERT_LE(std::ssize(sums.host), adapter_sums(of.rows, width));
    CudaAdapterExpandParams expand{.rows = of.rows,
                                   .slices = shrink.slices,
                                   .sums_width = width,
                                   .scale = 0.75F,
                                   .gates = of.gates};
    std::int64_t outputs = 0;
    for (const AdapterTestSite& site : of.sites) {
      AdapterRun& run = expand.runs[expand.run_count];
      run.site = expand.run_count;
      run.low = expand.run_count++ * of.rank;
      run.outputs = site.outputs;
      run.first_output = outputs;
      outputs += site.outputs;
    }
    if (of.gates > 0) outputs = (of.gates + kGateBlock - 1) / kGateBlock * 2 * kGateBlock;
    RowsPair residual = RowsPair::random(of.rows, outputs, DType::kF32, engine_);
    RowsPair out = RowsPair::poisoned(of.rows, outputs);
    const auto set = [&](bool device) {
      shrink.in = device ? in.device() : in.host();
      shrink.tasks = expand.tasks = tasks.on(device, most);
      shrink.places = expand.places = places.on(device);
      shrink.sums = device ? sums.device() : sums.host.data();
      expand.sums = shrink.sums;
      if (of.has_residual) expand.residual = device ? residual.device() : residual.host();
      expand.out = device ? out.device() : out.host();
    };
    set(true);
    expect_runs([&](Stream stream) { return adapter_shrink(shrink, stream); });
    expect_runs([&](Stream stream) { return adapter_expand(expand, stream); });
    set(false);
    reference::adapter_shrink(shrink);
    reference::adapter_expand(expand);
    out.expect_close(1e-4);
  }
};

TEST_F(AdapterHalvesCudaTest, AddToRowsOfSeveralAdaptersAndOfNone) {
  for (const std::int32_t rows : {1, 2, 9, 40}) {
    expect_as_reference({.inputs = 512,
                         .sites = {{256, {16, 0, 8}}, {64, {4, 16, 0}}, {64, {16, 16, 16}}},
                         .rows = rows,
                         .rank = 16});
  }
}

TEST_F(AdapterHalvesCudaTest, TakeEveryTypeAndInputsThatFillNoRun) {
  for (const DType dtype : kTypes) {
    for (const std::int64_t inputs : {8, 20, 100, 1030}) {
      expect_as_reference({.inputs = inputs,
                           .sites = {{72, {16}}},
                           .rows = 5,
                           .rank = 16,
                           .has_residual = false,
                           .dtype = dtype});
    }
  }
}

TEST_F(AdapterHalvesCudaTest, HaveRanksOfSeveralTiles) {
  expect_as_reference(
      {.inputs = 320, .sites = {{48, {64, 20}}, {40, {33, 0}}}, .rows = 7, .rank = 64});
}

TEST_F(AdapterHalvesCudaTest, PutOutputsOfRunsAtAnyColumn) {
  expect_as_reference(
      {.inputs = 64, .sites = {{7, {8}}, {3, {8}}, {150, {8}}}, .rows = 3, .rank = 16});
}

TEST_F(AdapterHalvesCudaTest, PutGatesAndUpsInBlocksByTurns) {
  for (const std::int64_t gates : {8, 24, 20, 136}) {
    expect_as_reference({.inputs = 64,
                         .sites = {{gates, {8, 16}}, {gates, {16, 8}}},
                         .rows = 4,
                         .rank = 16,
                         .gates = gates});
  }
}

TEST_F(AdapterHalvesCudaTest, SpreadOverPromptsOfOneAdapter) {
  expect_as_reference({.inputs = test_size<std::int64_t>(4096, 256),
                       .sites = {{256, {16}}},
                       .rows = test_size(500, 70),
                       .rank = 16});
}

TEST_F(OpsCudaTest, ActivatesWhatAProductHasLeftApart) {
  for (const std::int64_t width : {8, 40, 30, 1030}) {
    for (const DType out_type : kTypes) {
      for (const bool gated : {false, true}) {
        for (const bool alternate : {false, true}) {
          if (alternate && !gated) continue;
          const std::int64_t gates = (width + kGateBlock - 1) / kGateBlock * kGateBlock;
          const std::int64_t in_width = !gated ? width : 2 * (alternate ? gates : width);
          RowsPair in = RowsPair::random(3, in_width, DType::kF32, engine_);
          RowsPair residual = RowsPair::random(3, width, DType::kF32, engine_);
          RowsPair out = RowsPair::poisoned(3, width, out_type);
          const Mirror<float> bias = floats(2 * width);
          CudaActivateParams params{.rows = 3,
                                    .spec = {.activation = Activation::kSilu, .scale = 0.5F},
                                    .gated = gated,
                                    .alternate = alternate};
          const auto set = [&](bool device) {
            params.in = device ? in.device() : in.host();
            params.out = device ? out.device() : out.host();
            if (alternate) return;
            params.bias = device ? bias.device() : bias.host.data();
            params.residual = device ? residual.device() : residual.host();
          };
          set(true);
          expect_runs([&](Stream stream) { return activate(params, stream); });
          set(false);
          reference::activate(params);
          out.expect_close(2e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::cuda
