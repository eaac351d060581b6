#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"
#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

namespace weft::cuda {
namespace {

/// The outputs of a site's only run, and the ranks of its pairs by place; 0: no pair.
struct Site {
  std::int64_t outputs = 0;
  std::vector<std::int32_t> ranks;
};

/// Places whose numbers stand on both sides.
struct Places {
  Mirror<std::byte> bytes;
  std::int64_t stride;

  [[nodiscard]] CudaAdapterPlaces on(bool device) {
    return {device ? bytes.device() : bytes.host.data(), stride};
  }
};

/// The rows of a step by adapter.
struct Tasks {
  Mirror<CudaAdapterTask> tasks;
  Mirror<std::int32_t> count;
  Mirror<std::int32_t> rows;

  [[nodiscard]] CudaAdapterTasks on(bool device, std::int32_t most) {
    if (device) return {tasks.device(), count.device(), rows.device(), most};
    return {tasks.host.data(), count.host.data(), rows.host.data(), most};
  }
};

class AdapterCudaTest : public OpsCudaTest {
 protected:
  Places places(const std::vector<Site>& sites, std::int64_t inputs) {
    const std::size_t count = sites.front().ranks.size();
    std::vector<std::vector<std::byte>> all;
    std::size_t stride = 0;
    for (std::size_t place = 0; place < count; ++place) {
      all.push_back(place_of(sites, inputs, place));
      stride = std::max(stride, all.back().size());
    }
    std::vector<std::byte> bytes(stride * count, std::byte{0xff});
    for (std::size_t place = 0; place < count; ++place)
      std::ranges::copy(all[place], bytes.data() + place * stride);
    return {Mirror(std::move(bytes)), static_cast<std::int64_t>(stride)};
  }

  /// Rows have the places -1, 0, 1, ... by turns, in an order of their own.
  Tasks tasks(std::int32_t rows, std::int32_t places) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, engine_);
    std::vector<CudaAdapterTask> tasks;
    std::vector<std::int32_t> by_place;
    for (std::int32_t place = -1; place < places; ++place) {
      std::vector<std::int32_t> own;
      for (std::int32_t i = place + 1; i < rows; i += places + 1)
        own.push_back(order[static_cast<std::size_t>(i)]);
      for (std::size_t first = 0; first < own.size(); first += std::size_t{kAdapterTaskRows}) {
        const auto left = static_cast<std::int32_t>(own.size() - first);
        tasks.push_back({place, static_cast<std::int32_t>(by_place.size() + first),
                         std::min(left, kAdapterTaskRows)});
      }
      by_place.insert(by_place.end(), own.begin(), own.end());
    }
    const auto count = static_cast<std::int32_t>(tasks.size());
    return {Mirror(std::move(tasks)), Mirror<std::int32_t>({count}), Mirror(std::move(by_place))};
  }

 private:
  std::vector<std::byte> place_of(const std::vector<Site>& sites, std::int64_t inputs,
                                  std::size_t place) {
    constexpr std::size_t kAligned = 256;
    std::vector<CudaAdapterPair> pairs;
    std::vector<std::byte> bytes(kAligned *
                                 ((sites.size() * sizeof(CudaAdapterPair)) / kAligned + 1));
    const auto add = [&](std::int64_t numbers) {
      const std::size_t at = bytes.size();
      bytes.resize(at +
                   (static_cast<std::size_t>(numbers) * 2 + kAligned - 1) / kAligned * kAligned);
      return static_cast<std::int64_t>(at);
    };
    // Sums of `terms` products are about 1, whatever their count: a tolerance fits all shapes.
    const auto put = [&](std::int64_t begin, std::int64_t index, std::int64_t terms) {
      const float spread = 1 / std::sqrt(static_cast<float>(terms));
      const std::uint16_t number = to_bf16(std::normal_distribution<float>(0, spread)(engine_));
      std::memcpy(bytes.data() + begin + 2 * index, &number, 2);
    };
    for (const Site& site : sites) {
      const std::int64_t rank = site.ranks[place];
      CudaAdapterPair pair{0.5F, static_cast<std::int32_t>((rank + 15) / 16), 0, 0};
      pair.a = add(adapter_a_size(pair.tiles, inputs));
      for (std::int64_t r = 0; r < rank; ++r) {
        for (std::int64_t k = 0; k < inputs; ++k) put(pair.a, adapter_a_at(r, k, inputs), inputs);
      }
      const std::int64_t panels = (site.outputs + kAdapterPanel - 1) / kAdapterPanel;
      pair.b = add(adapter_b_size(pair.tiles, panels));
      for (std::int64_t output = 0; output < site.outputs; ++output) {
        for (std::int64_t r = 0; r < rank; ++r) {
          put(pair.b, adapter_b_at(output / kAdapterPanel, output % kAdapterPanel, r, pair.tiles),
              rank);
        }
      }
      pairs.push_back(pair);
    }
    std::memcpy(bytes.data(), pairs.data(), pairs.size() * sizeof(CudaAdapterPair));
    return bytes;
  }
};

/// A product's shape and a step of it.
struct Case {
  std::int64_t inputs;
  std::vector<Site> sites;
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
    Places places = this->places(of.sites, of.inputs);
    Tasks tasks = this->tasks(of.rows, count);
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
    for (const Site& site : of.sites) {
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
