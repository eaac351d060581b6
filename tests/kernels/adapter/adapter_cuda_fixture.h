#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"

/// Random adapters in places, and steps whose rows have them.
namespace weft::cuda {

/// The outputs of a site's only run, and the ranks of its pairs by place; 0: no pair.
struct AdapterTestSite {
  std::int64_t outputs = 0;
  std::vector<std::int32_t> ranks;
};

/// Adapters in places, whose numbers stand on both sides.
struct AdapterPlaces {
  Mirror<std::byte> bytes;
  std::int64_t stride;

  [[nodiscard]] CudaAdapterPlaces on(bool device) {
    return {device ? bytes.device() : bytes.host.data(), stride};
  }
};

/// The rows of a step by adapter.
struct AdapterTasks {
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
  AdapterPlaces places(const std::vector<AdapterTestSite>& sites, std::int64_t inputs,
                       float scale = 0.5F) {
    const std::size_t count = sites.front().ranks.size();
    std::vector<std::vector<std::byte>> all;
    std::size_t stride = 0;
    for (std::size_t place = 0; place < count; ++place) {
      all.push_back(place_of(sites, inputs, place, scale));
      stride = std::max(stride, all.back().size());
    }
    std::vector<std::byte> bytes(stride * count, std::byte{0xff});
    for (std::size_t place = 0; place < count; ++place)
      std::ranges::copy(all[place], bytes.data() + place * stride);
    return {Mirror(std::move(bytes)), static_cast<std::int64_t>(stride)};
  }

  /// Rows have the places -1, 0, 1, ... by turns, in an order of their own.
  AdapterTasks tasks(std::int32_t rows, std::int32_t places) {
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
  std::vector<std::byte> place_of(const std::vector<AdapterTestSite>& sites, std::int64_t inputs,
                                  std::size_t place, float scale) {
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
    for (const AdapterTestSite& site : sites) {
      const std::int64_t rank = site.ranks[place];
      CudaAdapterPair pair{scale, static_cast<std::int32_t>((rank + 15) / 16), 0, 0};
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

}  // namespace weft::cuda
