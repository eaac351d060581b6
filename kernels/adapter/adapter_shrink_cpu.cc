#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/simd/unroll.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/adapter/adapter_shrink_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/adapter/adapter_number-inl.h"
#include "weft/kernels/simd/simd_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// A tile's sums stay in registers: 4 x 4 of AVX-512's 32, 2 x 4 of AVX2's 16.
constexpr std::size_t kShrinkRows = kPairWidth >= 16 ? 4 : 2;

/// Some rows of one pair's A, and the rows of `in` that multiply them.
template <class Number>
struct ShrinkTile {
  const Number* a = nullptr;  ///< [kAdapterRankBlock, K], `stride` numbers apart
  std::int64_t stride = 0;
  std::int64_t inputs = 0;
  float scale = 1;
  bool fetches = false;  ///< whether to fetch the next rows of A, done once for all rows of `in`
  std::array<const float*, kShrinkRows> in{};
  std::array<float*, kShrinkRows> low{};
};

template <std::size_t kRows, class Number>
HWY_ATTR void shrink_tile(const ShrinkTile<Number>& tile) {
  constexpr std::size_t kRanks = kAdapterRankBlock;
  PairFloats sums[kRows][kRanks];
  WEFT_UNROLL
  for (auto& row : sums) {
    WEFT_UNROLL
    for (auto& sum : row) sum = hn::Zero(kPairFloats);
  }
  for (std::int64_t k = 0; k < tile.inputs; k += kPairWidth) {
    PairFloats a[kRanks];
    WEFT_UNROLL
    for (std::size_t r = 0; r < kRanks; ++r) {
      const Number* from = tile.a + static_cast<std::int64_t>(r) * tile.stride + k;
      a[r] = load_pair(from);
      if (tile.fetches) __builtin_prefetch(from + kAdapterRankBlock * tile.stride, 0, 2);
    }
    const auto left = static_cast<std::size_t>(tile.inputs - k);
    WEFT_UNROLL
    for (std::size_t row = 0; row < kRows; ++row) {
      const PairFloats in = load_first(tile.in[row] + k, left);
      WEFT_UNROLL
      for (std::size_t r = 0; r < kRanks; ++r) sums[row][r] = hn::MulAdd(in, a[r], sums[row][r]);
    }
  }
  WEFT_UNROLL
  for (std::size_t row = 0; row < kRows; ++row) {
    WEFT_UNROLL
    for (std::size_t r = 0; r < kRanks; ++r) {
      tile.low[row][r] = tile.scale * hn::GetLane(hn::SumOfLanes(kPairFloats, sums[row][r]));
    }
  }
}

template <class Number>
HWY_ATTR void shrink_block(const AdapterShrinkParams& params, const AdapterTask& task,
                           std::int32_t site, std::int64_t first_rank) {
  const AdapterPair& pair = task.pairs[params.first_site + site];
  ShrinkTile<Number> tile;
  tile.stride = adapter_row(params.in.width);
  tile.a = reinterpret_cast<const Number*>(pair.a) + first_rank * tile.stride;
  tile.inputs = params.in.width;
  tile.scale = pair.scale;
  const std::int64_t column = site * params.rank + first_rank;
  for (std::size_t first = 0; first < task.rows.size(); first += kShrinkRows) {
    const std::size_t count = std::min(kShrinkRows, task.rows.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      tile.in[i] = params.in.row(task.rows[first + i]);
      tile.low[i] = params.low.row(task.rows[first + i]) + column;
    }
    tile.fetches = first == 0;
    if (count == kShrinkRows) {
      shrink_tile<kShrinkRows>(tile);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      tile.fetches = first + i == 0;
      tile.in[0] = params.in.row(task.rows[first + i]);
      tile.low[0] = params.low.row(task.rows[first + i]) + column;
      shrink_tile<1>(tile);
    }
  }
}

/// Divides the work by blocks of all pairs' ranks, so that only one thread reads each number of an
/// A.
HWY_ATTR void adapter_shrink_on_target(const AdapterShrinkParams& params, Share share) {
  const auto blocks_of = [&](const AdapterTask& task, std::int32_t site) {
    const std::int64_t rank = task.pairs[params.first_site + site].rank;
    return (rank + kAdapterRankBlock - 1) / kAdapterRankBlock;
  };
  std::int64_t total = 0;
  for (const AdapterTask& task : params.tasks) {
    for (std::int32_t site = 0; site < params.sites; ++site) total += blocks_of(task, site);
  }
  const Share::Range own = share.of(total);
  std::int64_t at = 0;
  for (const AdapterTask& task : params.tasks) {
    for (std::int32_t site = 0; site < params.sites; ++site) {
      const std::int64_t blocks = blocks_of(task, site);
      const bool narrow = task.pairs[params.first_site + site].dtype == DType::kBF16;
      const auto block = narrow ? shrink_block<std::uint16_t> : shrink_block<float>;
      const std::int64_t end = std::min(own.end - at, blocks);
      for (std::int64_t i = std::max<std::int64_t>(own.begin - at, 0); i < end; ++i) {
        block(params, task, site, i * kAdapterRankBlock);
      }
      at += blocks;
    }
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(adapter_shrink_on_target);

void cpu::adapter_shrink(const AdapterShrinkParams& params, Share share) {
  HWY_DYNAMIC_DISPATCH(adapter_shrink_on_target)(params, share);
}

}  // namespace weft
#endif  // HWY_ONCE
