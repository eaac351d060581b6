#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/simd/unroll.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/adapter/adapter_expand_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/adapter/adapter_number-inl.h"
#include "weft/kernels/simd/simd_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// A tile's sums stay in registers: 4 rows by 4 panels in AVX-512's 32 registers, 4 rows by 1 panel
/// in fewer.
constexpr std::size_t kExpandRows = 4;
constexpr int kPanelParts = static_cast<int>(kAdapterPanel / kPairWidth);
constexpr int kTilePanels = kPairWidth >= 16 ? 4 : 1;
/// Panels that a thread takes at once: a line of bf16 sums, and more of each row of `out`.
constexpr std::int64_t kGroupPanels = 4;

/// Panels of one pair's B, and the rows of `low` that multiply them.
template <class Number>
struct ExpandTile {
  const Number* b = nullptr;  ///< [panels, rank, kAdapterPanel]
  std::int64_t rank = 0;
  float scale = 1;
  std::int64_t outputs = 0;  ///< outputs of the panels
  bool fetches = false;      ///< whether to fetch the next panels, done once for all rows
  std::array<const float*, kExpandRows> low{};
  std::array<float*, kExpandRows> out{};
};

template <std::size_t kRows, int kPanels, class Number>
HWY_ATTR void expand_tile(const ExpandTile<Number>& tile) {
  constexpr int kParts = kPanels * kPanelParts;
  PairFloats sums[kRows][kParts];
  WEFT_UNROLL
  for (auto& row : sums) {
    WEFT_UNROLL
    for (auto& sum : row) sum = hn::Zero(kPairFloats);
  }
  for (std::int64_t r = 0; r < tile.rank; ++r) {
    PairFloats b[kParts];
    WEFT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      const std::int64_t panel = part / kPanelParts * tile.rank + r;
      const Number* from = tile.b + panel * kAdapterPanel + part % kPanelParts * kPairWidth;
      b[part] = load_pair(from);
      if (tile.fetches) __builtin_prefetch(from + kPanels * tile.rank * kAdapterPanel, 0, 2);
    }
    WEFT_UNROLL
    for (std::size_t row = 0; row < kRows; ++row) {
      const PairFloats low = hn::Set(kPairFloats, tile.low[row][r]);
      WEFT_UNROLL
      for (int part = 0; part < kParts; ++part) {
        sums[row][part] = hn::MulAdd(low, b[part], sums[row][part]);
      }
    }
  }
  const PairFloats scale = hn::Set(kPairFloats, tile.scale);
  WEFT_UNROLL
  for (std::size_t row = 0; row < kRows; ++row) {
    WEFT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      const std::int64_t output = part * kPairWidth;
      if (output >= tile.outputs) continue;
      const auto count = static_cast<std::size_t>(tile.outputs - output);
      float* out = tile.out[row] + output;
      store_first(hn::MulAdd(scale, sums[row][part], load_first(out, count)), out, count);
    }
  }
}

template <int kPanels, class Number>
HWY_ATTR void expand_rows(const AdapterExpandParams& params, const AdapterTask& task,
                          const AdapterRun& run, std::int64_t panel) {
  const AdapterPair& pair = task.pairs[run.site];
  ExpandTile<Number> tile;
  tile.rank = pair.rank;
  tile.b = reinterpret_cast<const Number*>(pair.b) +
           (run.first_panel + panel) * tile.rank * kAdapterPanel;
  tile.scale = params.scale;
  tile.outputs = std::min(kPanels * kAdapterPanel, run.outputs - panel * kAdapterPanel);
  const std::int64_t column = run.first_output + panel * kAdapterPanel;
  for (std::size_t first = 0; first < task.rows.size();) {
    const std::size_t left = task.rows.size() - first;
    const std::size_t count = left < kExpandRows ? 1 : kExpandRows;
    for (std::size_t i = 0; i < count; ++i) {
      tile.low[i] = params.low.row(task.rows[first + i]) + run.low;
      tile.out[i] = params.out.row(task.rows[first + i]) + column;
    }
    tile.fetches = first == 0;
    if (count == kExpandRows) {
      expand_tile<kExpandRows, kPanels>(tile);
    } else {
      expand_tile<1, kPanels>(tile);
    }
    first += count;
  }
}

template <class Number>
HWY_ATTR void expand_panels(const AdapterExpandParams& params, const AdapterTask& task,
                            const AdapterRun& run, std::int64_t panel, std::int64_t end) {
  for (; panel + kTilePanels <= end; panel += kTilePanels) {
    expand_rows<kTilePanels, Number>(params, task, run, panel);
  }
  for (; panel < end; ++panel) expand_rows<1, Number>(params, task, run, panel);
}

/// Writes the residual to some columns of all rows.
HWY_ATTR void begin_columns(const AdapterExpandParams& params, std::int64_t first,
                            std::int64_t count) {
  if (params.residual.data == params.out.data) return;
  for (std::int64_t row = 0; row < params.out.count; ++row) {
    float* out = params.out.row(row) + first;
    if (params.residual.data == nullptr) {
      std::fill_n(out, count, -0.0F);
    } else {
      std::copy_n(params.residual.row(row) + first, count, out);
    }
  }
}

/// Divides the work by outputs, so that only one thread reads each number of a B.
HWY_ATTR void adapter_expand_on_target(const AdapterExpandParams& params, Share share) {
  const auto groups_of = [](const AdapterRun& run) {
    return (run.panels() + kGroupPanels - 1) / kGroupPanels;
  };
  std::int64_t total = 0;
  for (const AdapterRun& run : params.runs) total += groups_of(run);
  const Share::Range own = share.of(total);
  std::int64_t at = 0;
  for (const AdapterRun& run : params.runs) {
    const std::int64_t groups = groups_of(run);
    const std::int64_t panel = std::max<std::int64_t>(own.begin - at, 0) * kGroupPanels;
    const std::int64_t end = std::min(std::min(own.end - at, groups) * kGroupPanels, run.panels());
    at += groups;
    if (panel >= end) continue;
    begin_columns(params, run.first_output + panel * kAdapterPanel,
                  std::min(end * kAdapterPanel, run.outputs) - panel * kAdapterPanel);
    // Adapter by adapter, since memory reads long runs faster.
    for (const AdapterTask& task : params.tasks) {
      const AdapterPair& pair = task.pairs[run.site];
      if (pair.rank == 0) continue;
      const bool narrow = pair.dtype == DType::kBF16;
      (narrow ? expand_panels<std::uint16_t> : expand_panels<float>)(params, task, run, panel, end);
    }
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(adapter_expand_on_target);

void cpu::adapter_expand(const AdapterExpandParams& params, Share share) {
  HWY_DYNAMIC_DISPATCH(adapter_expand_on_target)(params, share);
}

}  // namespace weft
#endif  // HWY_ONCE
