#include "weft/kernels/linear/linear_cpu.h"

// Size: the code for one row, for tiles and for the epilogue shares Highway's types of a target,
// and Highway compiles this file again for each target.

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/kernels/linear/codes/linear_cpu_amxint8.h"
#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/linear/targets/linear_cpu_amxbf16.h"
#include "weft/kernels/linear/targets/linear_cpu_avx512bf16.h"
#include "weft/kernels/linear/targets/linear_cpu_avx512vnni.h"
#include "weft/kernels/linear/targets/linear_cpu_avxvnni.h"
#include "weft/kernels/linear/targets/linear_cpu_neonbf16.h"
#include "weft/kernels/linear/targets/linear_cpu_neondot.h"
#include "weft/kernels/linear/targets/linear_cpu_neoni8mm.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/unroll.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/linear/linear_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/linear/codes/linear_codes-inl.h"
#include "weft/kernels/linear/linear_epilogue-inl.h"
#include "weft/kernels/linear/linear_widen-inl.h"
#include "weft/kernels/simd/simd_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGroupOutputs = LinearPlan::kGroupOutputs;

// The sums of a tile stay in registers: 12 x 2 of AVX-512's 32, 6 x 2 of AVX2's 16. The other
// registers hold a row's number and the weights.
#if HWY_TARGET == HWY_AVX3
constexpr std::int64_t kTileRows = 12;
constexpr int kTilePanels = 2;
#else
constexpr std::int64_t kTileRows = kWidth >= 8 ? 6 : 2;
constexpr int kTilePanels = 1;
#endif
static_assert(kTileRows <= LinearPlan::kMaxTileRows);

template <int kRows, int kPanels>
HWY_ATTR void multiply(const LinearTile& tile) {
  Floats sums[kRows][kPanels * kPanelVectors];
  WEFT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    WEFT_UNROLL
    for (int v = 0; v < kPanels * kPanelVectors; ++v) {
      const float* at = tile.sums + r * kGroupOutputs + v * kWidth;
      sums[r][v] = tile.first ? hn::Zero(kFloats) : hn::Load(kFloats, at);
    }
  }
  const auto* rows = reinterpret_cast<const float*>(tile.rows);
  const auto* panels = reinterpret_cast<const float*>(tile.panels);
  const std::int64_t stride = tile.panel_stride / 4;
  const std::byte* ahead = tile.ahead;
  for (std::int64_t word = 0; word < tile.words; ++word) {
    Floats weights[kPanels * kPanelVectors];
    WEFT_UNROLL
    for (int v = 0; v < kPanels * kPanelVectors; ++v) {
      weights[v] =
          hn::Load(kFloats, panels + v / kPanelVectors * stride + v % kPanelVectors * kWidth);
    }
    WEFT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const Floats number = hn::Set(kFloats, rows[r]);
      WEFT_UNROLL
      for (int v = 0; v < kPanels * kPanelVectors; ++v) {
        sums[r][v] = hn::MulAdd(number, weights[v], sums[r][v]);
      }
    }
    if (tile.fetches) {
      WEFT_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        __builtin_prefetch(ahead + p * tile.ahead_stride, 0, 2);  // into the second-level cache
      }
    }
    rows += kRows;
    panels += kLanes;
    ahead += tile.ahead_step;
  }
  WEFT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    WEFT_UNROLL
    for (int v = 0; v < kPanels * kPanelVectors; ++v) {
      hn::Store(sums[r][v], kFloats, tile.sums + r * kGroupOutputs + v * kWidth);
    }
  }
}

using Multiply = void (*)(const LinearTile&);

template <int kPanels, std::size_t... kIndex>
constexpr std::array<Multiply, sizeof...(kIndex)> table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply<static_cast<int>(kIndex) + 1, kPanels>...};
}

constexpr auto kOnePanel = table_of<1>(std::make_index_sequence<kTileRows>());
constexpr auto kAllPanels = table_of<kTilePanels>(std::make_index_sequence<kTileRows>());

/// Multiplies one row by panels that are not f32: weights are widened in registers, never stored.
template <int kPanels>
HWY_ATTR HWY_NOINLINE void multiply_row(const PackedLayout& layout, const std::byte* panels,
                                        const float* row, float* sums) {
  Floats sum[kPanels * kPanelVectors];
  WEFT_UNROLL
  for (auto& part : sum) part = hn::Zero(kFloats);
  widen<kPanels>(layout, panels, 0, layout.inputs,
                 [&](std::int64_t i, int p, int v, Floats value) HWY_ATTR {
                   Floats& part = sum[p * kPanelVectors + v];
                   part = hn::MulAdd(hn::Set(kFloats, row[i]), value, part);
                 });
  WEFT_UNROLL
  for (int at = 0; at < kPanels * kPanelVectors; ++at) {
    hn::Store(sum[at], kFloats, sums + at * kWidth);
  }
}

/// A group of panels that rows are multiplied by together. In a mixed weight their types may
/// differ.
struct PanelGroup {
  std::array<PackedPanel, LinearPlan::kGroupPanels> panels;
  std::int64_t count = 0;
  bool is_one_piece = true;  ///< the panels have one type and are contiguous

  PanelGroup(const PackedWeight& weight, std::int64_t first, std::int64_t size) : count(size) {
    for (std::int64_t i = 0; i < size; ++i) {
      panels[static_cast<std::size_t>(i)] = weight.panel(first + i);
    }
    if (size == 2) {
      is_one_piece = panels[0].data + panels[0].layout->panel_bytes() == panels[1].data &&
                     panels[0].layout->dtype == panels[1].layout->dtype;
    }
  }
};

/// The destination of a packed row: row `index` of the `rows` of a tile.
struct PackedRow {
  std::uint32_t* tile;
  std::int64_t index;
  std::int64_t rows;
};

/// Multiplies f32. Blocks of other weights are widened into the workspace first.
struct WideMultiplier {
  static constexpr std::int64_t kRows = kTileRows;
  /// The most rows that are multiplied by one panel at a time, so that a thread reads one stream.
  static constexpr std::int64_t kRowsOfOneStream = 0;
  /// Whether all tiles but the last have kRows rows and the last is padded.
  static constexpr bool kFillsTiles = false;
  static constexpr int kPanels = kTilePanels;
  static constexpr std::int64_t kStep = LinearPlan::kWideInputs;

  static std::int64_t words_of(std::int64_t inputs) { return inputs; }
  /// Bytes of a word, rounded down for blocks: only prefetching uses the number.
  static std::int64_t word_bytes(const PackedLayout& layout) {
    if (layout.keeps_blocks()) return layout.panel_bytes() / layout.inputs;
    return kLanes * layout.element_bytes();
  }

  HWY_ATTR static void pack_row(const float* row, std::int64_t inputs, const PackedRow& to) {
    if (to.rows == 1) {
      std::memcpy(to.tile, row, static_cast<std::size_t>(inputs) * sizeof(float));
      return;
    }
    for (std::int64_t i = 0; i < inputs; ++i) {
      to.tile[i * to.rows + to.index] = std::bit_cast<std::uint32_t>(row[i]);
    }
  }

  /// Sets the tile's panels to words [first, first + count) of a group.
  HWY_ATTR static void find_weights(const PanelGroup& group, std::int64_t first, std::int64_t count,
                                    float* wide, LinearTile& tile) {
    const PackedLayout& layout = *group.panels[0].layout;
    if (layout.dtype == DType::kF32 && group.is_one_piece) {
      tile.panels = group.panels[0].data + first * kLanes * 4;
      tile.panel_stride = layout.panel_bytes();
      return;
    }
    constexpr std::int64_t kPanelFloats = LinearPlan::kWideInputs * kLanes;
    for (std::int64_t panel = 0; panel < group.count; ++panel) {
      const PackedPanel& from = group.panels[static_cast<std::size_t>(panel)];
      widen_panel(*from.layout, from.data, first, count, wide + panel * kPanelFloats);
    }
    tile.panels = reinterpret_cast<const std::byte*>(wide);
    tile.panel_stride = kPanelFloats * 4;
  }

  /// Multiplies one row by a whole group; returns false where a tile is as fast.
  static bool multiply_one(const PanelGroup& group, const std::uint32_t* row, float* sums) {
    const PackedLayout& layout = *group.panels[0].layout;
    if (layout.dtype == DType::kF32 || layout.keeps_blocks() || !group.is_one_piece) return false;
    const auto* numbers = reinterpret_cast<const float*>(row);
    if (group.count == 2) {
      multiply_row<2>(layout, group.panels[0].data, numbers, sums);
    } else {
      multiply_row<1>(layout, group.panels[0].data, numbers, sums);
    }
    return true;
  }

  static void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile) {
    const auto& table = panels == kTilePanels ? kAllPanels : kOnePanel;
    table[static_cast<std::size_t>(rows - 1)](tile);
  }
};

#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
/// Multiplies bf16 by bf16 with the processor's instructions.
struct Bf16Multiplier {
#if HWY_ARCH_ARM_A64
  static constexpr std::int64_t kRows = neonbf16::kTileRows;
  static constexpr int kPanels = 1;
#else
  static constexpr std::int64_t kRows = avx512bf16::kTileRows;
  static constexpr int kPanels = 2;
#endif
  static constexpr std::int64_t kRowsOfOneStream = 0;
  static constexpr bool kFillsTiles = false;
  static constexpr std::int64_t kStep = LinearPlan::kBlockWords;

  static std::int64_t words_of(std::int64_t inputs) { return (inputs + 1) / 2; }
  static std::int64_t word_bytes(const PackedLayout& /*layout*/) { return kLanes * 4; }

  static void pack_row(const float* row, std::int64_t inputs, const PackedRow& to) {
#if HWY_ARCH_ARM_A64
    neonbf16::pack_row(row, inputs, to.tile, to.index, to.rows);
#else
    avx512bf16::pack_row(row, inputs, to.tile + to.index, to.rows);
#endif
  }

  static void find_weights(const PanelGroup& group, std::int64_t first, std::int64_t /*count*/,
                           float* /*wide*/, LinearTile& tile) {
    tile.panels = group.panels[0].data + first * kLanes * 4;
    tile.panel_stride = group.panels[0].layout->panel_bytes();
  }

  static bool multiply_one(const PanelGroup& /*group*/, const std::uint32_t* /*row*/,
                           float* /*sums*/) {
    return false;
  }

  static void multiply_tile(std::int64_t rows, [[maybe_unused]] std::int64_t panels,
                            const LinearTile& tile) {
#if HWY_ARCH_ARM_A64
    neonbf16::multiply_tile(rows, tile);
#else
    avx512bf16::multiply_tile(rows, panels, tile);
#endif
  }
};
#endif

#if HWY_TARGET == HWY_AVX3
/// Multiplies bf16 with AMX's tiles. Rows, and the end of a weight, are padded with zeros to whole
/// lines.
class AmxBf16Multiplier : public Bf16Multiplier {
 public:
  static constexpr std::int64_t kRows = amxbf16::kTileRows;
  static_assert(kStep % amxbf16::kLineWords == 0);

  static std::int64_t words_of(std::int64_t inputs) {
    const std::int64_t words = Bf16Multiplier::words_of(inputs);
    return (words + amxbf16::kLineWords - 1) / amxbf16::kLineWords * amxbf16::kLineWords;
  }

  static void pack_row(const float* row, std::int64_t inputs, const PackedRow& to) {
    amxbf16::pack_row(row, inputs, to.tile, to.index, to.rows);
  }

  static void find_weights(const PanelGroup& group, std::int64_t first, std::int64_t count,
                           float* wide, LinearTile& tile) {
    Bf16Multiplier::find_weights(group, first, count, wide, tile);
    const std::int64_t own = Bf16Multiplier::words_of(group.panels[0].layout->inputs) - first;
    if (own >= count) return;
    static_assert(kStep * kGroupOutputs * 4 <= LinearPlan::kWideBytes);
    std::memset(wide, 0, static_cast<std::size_t>(LinearPlan::kWideBytes));
    constexpr std::int64_t kPanelBytes = kStep * kLanes * 4;
    auto* to = reinterpret_cast<std::byte*>(wide);
    for (std::int64_t panel = 0; panel < group.count; ++panel) {
      std::memcpy(to + panel * kPanelBytes, tile.panels + panel * tile.panel_stride,
                  static_cast<std::size_t>(own * kLanes * 4));
    }
    tile.panels = to;
    tile.panel_stride = kPanelBytes;
  }

  void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile) {
    amxbf16::multiply_tile(rows, panels, tile, tiles_);
  }

 private:
  AmxTiles tiles_;
};

#endif

#if HWY_TARGET != HWY_SCALAR
/// Multiplies codes of weights by int8. A tile's weights are a group that was unpacked to the
/// workspace. A block of a row has kRowWords words.
template <std::int64_t kRowWords>
struct CodedMultiplier {
  static constexpr std::int64_t kRowsOfOneStream = 2;
  static constexpr bool kFillsTiles = false;
  static constexpr std::int64_t kStep =
      CodedPlan::kStepInputs / CodedPlan::kBlockInputs * kRowWords;
  static_assert(sizeof(CodedGroup) <= LinearPlan::kWideBytes);

  static std::int64_t words_of(std::int64_t inputs) {
    return inputs / CodedPlan::kBlockInputs * kRowWords;
  }
  static std::int64_t inputs_of(std::int64_t words) {
    return words / kRowWords * CodedPlan::kBlockInputs;
  }
  /// Returns 0, because CodedPanel determines what to prefetch.
  static std::int64_t word_bytes(const PackedLayout& /*layout*/) { return 0; }

  HWY_ATTR static void find_weights(const PanelGroup& group, std::int64_t first, std::int64_t count,
                                    float* wide, LinearTile& tile) {
    unpack_group(group, inputs_of(first), inputs_of(count), wide, tile);
  }

  static bool multiply_one(const PanelGroup& /*group*/, const std::uint32_t* /*row*/,
                           float* /*sums*/) {
    return false;
  }

 protected:
  HWY_ATTR static CodedGroup& unpack_group(const PanelGroup& group, std::int64_t first,
                                           std::int64_t count, float* wide, LinearTile& tile) {
    auto& coded = *reinterpret_cast<CodedGroup*>(wide);
    for (std::size_t panel = 0; panel < static_cast<std::size_t>(group.count); ++panel) {
      coded.panels[panel] =
          unpack(group.panels[panel], first, count, group.count, coded.rooms[panel]);
    }
    tile.panels = reinterpret_cast<const std::byte*>(coded.panels.data());
    tile.panel_stride = sizeof(CodedPanel);
    return coded;
  }
};

/// For processors that add two products at a time. Types whose codes are all below 64 are
/// multiplied as bytes.
template <bool kIsWide>
struct PairedMultiplier : CodedMultiplier<PairedRow<kIsWide>::kBlockWords> {
  static constexpr std::int64_t kRows = kPairedTileRows;
  static constexpr int kPanels = 1;

  HWY_ATTR static void pack_row(const float* row, std::int64_t inputs, const PackedRow& to) {
    constexpr std::int64_t kWords = PairedRow<kIsWide>::kBlockWords;
    pack_paired_row<kIsWide>(row, inputs, to.tile + to.index * kWords, to.rows * kWords);
  }

  static void multiply_tile(std::int64_t rows, std::int64_t /*panels*/, const LinearTile& tile) {
    multiply_paired_tile<kIsWide>(rows, *reinterpret_cast<const CodedPanel*>(tile.panels), tile);
  }
};
#endif

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
/// For processors that add four products at a time.
struct DotMultiplier : CodedMultiplier<CodedPlan::kBlockWords> {
#if HWY_ARCH_ARM_A64
  static constexpr std::int64_t kRows = neondot::kTileRows;
  static_assert(kRows == neoni8mm::kTileRows);
  static constexpr int kPanels = 1;
#elif HWY_TARGET == HWY_AVX2
  static constexpr std::int64_t kRows = avxvnni::kTileRows;
  static constexpr int kPanels = 1;
#else
  static constexpr std::int64_t kRows = avx512vnni::kTileRows;
  static constexpr int kPanels = 2;
  static_assert(kPanels == LinearPlan::kGroupPanels);
#endif

  HWY_ATTR static void pack_row(const float* row, std::int64_t inputs, const PackedRow& to) {
    pack_coded_row(row, inputs, to.tile + to.index, to.rows);
  }

  static void multiply_tile(std::int64_t rows, [[maybe_unused]] std::int64_t panels,
                            const LinearTile& tile) {
    const auto* coded = reinterpret_cast<const CodedPanel*>(tile.panels);
#if HWY_ARCH_ARM_A64
    const auto multiply =
        multiplies_int8_by_twos(cpu_target()) ? neoni8mm::multiply_tile : neondot::multiply_tile;
    multiply(rows, *coded, tile);
#elif HWY_TARGET == HWY_AVX2
    avxvnni::multiply_tile(rows, *coded, tile);
#else
    avx512vnni::multiply_tile(rows, panels, coded, tile);
#endif
  }
};
#endif

#if HWY_TARGET == HWY_AVX3
/// Multiplies codes with AMX's tiles, for steps of many rows.
class AmxCodedMultiplier : public CodedMultiplier<amxint8::kBlockWords> {
 public:
  static constexpr std::int64_t kRows = amxint8::kTileRows;
  static constexpr bool kFillsTiles = true;
  static constexpr int kPanels = 2;

  static void pack_row(const float* row, std::int64_t inputs, const PackedRow& to) {
    amxint8::pack_row(row, inputs, to.tile, to.index, to.rows);
  }

  HWY_ATTR static void find_weights(const PanelGroup& group, std::int64_t first, std::int64_t count,
                                    float* wide, LinearTile& tile) {
    CodedGroup& coded = unpack_group(group, inputs_of(first), inputs_of(count), wide, tile);
    for (std::size_t panel = 0; panel < static_cast<std::size_t>(group.count); ++panel) {
      amxint8::center(coded.panels[panel], inputs_of(count));
    }
  }

  void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile) {
    amxint8::multiply_tile(rows, panels, reinterpret_cast<const CodedPanel*>(tile.panels), tile,
                           tiles_);
  }

 private:
  AmxTiles tiles_;
};
#endif

static_assert(std::is_same_v<Floats, FloatVec>);

/// Turns a tile's sums into `out`: bias, activation, scale and residual.
class Epilogue {
 public:
  explicit Epilogue(const LinearParams& params) : params_(params) {}

  /// Writes rows [first_row, first_row + rows) of `out` at panels [panel, panel + panels).
  HWY_ATTR void finish(const float* sums, std::int64_t first_row, std::int64_t rows,
                       std::int64_t panel, std::int64_t panels) const {
    const bool gated = params_.weight->gated();
    const std::int64_t first = (gated ? panel / 2 : panel) * kLanes;
    const std::int64_t width = (gated ? 1 : panels) * kLanes;
    const std::int64_t outputs = params_.weight->outputs();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t lane = 0; lane < width && first + lane < outputs; lane += kWidth) {
        const float* at = sums + r * kGroupOutputs + lane;
        const std::int64_t output = first + lane;
        const auto count = static_cast<std::size_t>(outputs - output);
        finish_one(at, first_row + r, output, count);
      }
    }
  }

 private:
  HWY_ATTR void finish_one(const float* sum, std::int64_t row, std::int64_t output,
                           std::size_t count) const {
    const LinearSpec& spec = params_.spec;
    const Floats first = biased(sum, output, count);
    if (!params_.weight->gated())
      return write(plain_output(kFloats, spec, first), row, output, count);
    const std::int64_t up = params_.weight->outputs() + output;
    const Floats second = biased(sum + kLanes, up, count);
    if (!params_.gate_apart)
      return write(gated_output(kFloats, spec, first, second), row, output, count);
    write(first, row, output, count);
    write(second, row, up, count);
  }

  HWY_ATTR Floats biased(const float* sum, std::int64_t output, std::size_t count) const {
    const Floats value = hn::Load(kFloats, sum);
    if (params_.bias == nullptr) return value;
    return hn::Add(value, load_first(params_.bias + output, count));
  }

  HWY_ATTR void write(Floats value, std::int64_t row, std::int64_t output,
                      std::size_t count) const {
    value = hn::Mul(value, hn::Set(kFloats, params_.spec.scale));
    if (params_.residual.data != nullptr) {
      value = hn::Add(load_first(params_.residual.row(row) + output, count), value);
    }
    store_first(value, params_.out.row(row) + output, count);
  }

  const LinearParams& params_;
};

/// The op for one thread: a part of the panels, and of the rows.
template <class Multiplier>
class Linear {
 public:
  HWY_ATTR Linear(const LinearParams& params, std::span<std::byte> workspace)
      : params_(params),
        layout_(params.weight->layout()),
        words_(Multiplier::words_of(layout_.inputs)),
        workspace_(workspace, params.out.count, words_,
                   Multiplier::kFillsTiles ? Multiplier::kRows : 1),
        epilogue_(params) {}

  HWY_ATTR void run(Share share) {
    const std::int64_t step = LinearPlan::block_rows(words_);
    // Divides blocks of rows first: threads that share rows would each pack the same rows.
    const int parts = LinearPlan::row_parts(params_.out.count, step, share.count);
    const Share of_rows{.index = share.index % parts, .count = parts};
    const Share of_panels{.index = share.index / parts, .count = share.count / parts};
    const Share::Range own = of_rows.of(params_.out.count, step);
    const Share::Range panels = of_panels.of(layout_.panels(), LinearPlan::kGroupPanels);
    if (panels.begin == panels.end) return;
    for (std::int64_t row = own.begin; row < own.end; row += step) {
      const std::int64_t rows = std::min(step, own.end - row);
      ensure_packed(row, rows);
      for (std::int64_t panel = panels.begin; panel < panels.end;
           panel += LinearPlan::kGroupPanels) {
        const std::int64_t count = std::min(LinearPlan::kGroupPanels, panels.end - panel);
        if (rows <= Multiplier::kRowsOfOneStream) {
          for (std::int64_t i = 0; i < count; ++i) {
            multiply_group(rows, panel + i, 1, workspace_.sums + i * kLanes);
          }
        } else {
          multiply_group(rows, panel, count, workspace_.sums);
        }
        epilogue_.finish(workspace_.sums, row, rows, panel, count);
      }
    }
  }

 private:
  struct Tiles {
    std::int64_t rows;
    std::int64_t count;

    explicit Tiles(std::int64_t block_rows)
        : rows(block_rows), count((block_rows + Multiplier::kRows - 1) / Multiplier::kRows) {}
    /// Rows are divided evenly, since a tile of one row costs as much as a tile of several. With
    /// kFillsTiles all tiles but the last are full instead.
    [[nodiscard]] std::int64_t begin(std::int64_t tile) const {
      return Multiplier::kFillsTiles ? std::min(tile * Multiplier::kRows, rows)
                                     : rows * tile / count;
    }
    [[nodiscard]] std::int64_t size(std::int64_t tile) const {
      return begin(tile + 1) - begin(tile);
    }
    /// The rows that a tile has room for.
    [[nodiscard]] std::int64_t room(std::int64_t tile) const {
      return Multiplier::kFillsTiles ? amxint8::room_of(size(tile)) : size(tile);
    }
  };

  /// Packs the rows unless this thread's last piece has done so.
  HWY_ATTR void ensure_packed(std::int64_t first, std::int64_t rows) {
    PackedBlock* packed = params_.packed;
    if (packed != nullptr && packed->first == first && packed->rows == rows) return;
    pack_rows(first, rows);
    if (packed != nullptr) *packed = {first, rows};
  }

  /// Packs a block's rows in tiles of [words, rows of the tile] each.
  HWY_ATTR void pack_rows(std::int64_t first, std::int64_t rows) {
    const Tiles tiles(rows);
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      const std::int64_t begin = tiles.begin(tile);
      const std::int64_t size = tiles.size(tile);
      std::uint32_t* to = workspace_.rows + begin * words_;
      for (std::int64_t r = 0; r < size; ++r) {
        const std::int64_t out_row = first + begin + r;
        const std::int64_t in_row = params_.input_rows.empty()
                                        ? out_row
                                        : params_.input_rows[static_cast<std::size_t>(out_row)];
        Multiplier::pack_row(in_order(params_.in.row(in_row)), layout_.inputs, {to, r, size});
      }
    }
  }

  /// Returns a row in the order of the weight's columns.
  HWY_ATTR const float* in_order(const float* row) const {
    const std::vector<std::int32_t>* order = params_.weight->input_order();
    if (order == nullptr) return row;
    for (std::size_t i = 0; i < order->size(); ++i) workspace_.ordered[i] = row[(*order)[i]];
    return workspace_.ordered;
  }

  HWY_ATTR void multiply_group(std::int64_t rows, std::int64_t panel, std::int64_t count,
                               float* sums) {
    const PanelGroup group(*params_.weight, panel, count);
    if (rows == 1 && Multiplier::multiply_one(group, workspace_.rows, sums)) return;
    const PackedLayout& layout = *group.panels[0].layout;
    const std::byte* data = group.panels[0].data;
    constexpr std::int64_t kStep = Multiplier::kStep;
    for (std::int64_t word = 0; word < words_; word += kStep) {
      LinearTile block{.words = std::min(kStep, words_ - word), .first = word == 0};
      Multiplier::find_weights(group, word, block.words, workspace_.wide, block);
      const bool ends = word + kStep >= words_;
      block.ahead_step = Multiplier::word_bytes(layout);
      block.ahead_stride = layout.panel_bytes();
      block.ahead = ends ? data + LinearPlan::kGroupPanels * layout.panel_bytes()
                         : data + (word + kStep) * block.ahead_step;
      block.sums = sums;
      multiply_block(rows, group, word, block);
    }
  }

  /// Multiplies the rows by one block of the weight. The first tile prefetches the next block;
  /// otherwise memory would idle during all tiles but the first, and between two pages.
  HWY_ATTR void multiply_block(std::int64_t rows, const PanelGroup& group, std::int64_t word,
                               const LinearTile& block) {
    const Tiles tiles(rows);
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      for (std::int64_t panel = 0; panel < group.count; panel += Multiplier::kPanels) {
        LinearTile part = block;
        part.rows = workspace_.rows + tiles.begin(tile) * words_ + word * tiles.room(tile);
        part.panels += panel * block.panel_stride;
        part.sums += tiles.begin(tile) * kGroupOutputs + panel * kLanes;
        part.fetches = tile == 0;
        part.ahead += panel * block.ahead_stride;
        multiplier_.multiply_tile(tiles.size(tile),
                                  std::min<std::int64_t>(Multiplier::kPanels, group.count - panel),
                                  part);
      }
    }
  }

  const LinearParams& params_;
  const PackedLayout layout_;
  const std::int64_t words_;
  const LinearWorkspace workspace_;
  const Epilogue epilogue_;
  Multiplier multiplier_;  // for this call only: it may hold registers of the thread
};

HWY_ATTR void linear_on_target(const LinearParams& params, Share share,
                               std::span<std::byte> workspace) {
#if HWY_TARGET == HWY_AVX3
  const bool has_amx = cpu_target() == CpuTarget::kAvx512Amx;
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
  if (multiplies_bf16(cpu_target()) &&
      params.weight->all_types_are([](DType dtype) { return dtype == DType::kBF16; })) {
#if HWY_TARGET == HWY_AVX3
    if (has_amx) {
      Linear<AmxBf16Multiplier>(params, workspace).run(share);
      return;
    }
#endif
    Linear<Bf16Multiplier>(params, workspace).run(share);
    return;
  }
#endif
#if HWY_TARGET != HWY_SCALAR
  if (params.weight->all_types_are(has_codes)) {
#if HWY_TARGET == HWY_AVX3
    const bool halves = !params.weight->all_types_are(has_whole_groups);
    if (has_amx &&
        params.out.count >= (halves ? amxint8::kLeastRowsOfHalves : amxint8::kLeastRows)) {
      Linear<AmxCodedMultiplier>(params, workspace).run(share);
      return;
    }
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
    if (multiplies_int8(cpu_target())) {
      Linear<DotMultiplier>(params, workspace).run(share);
      return;
    }
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    if (params.weight->all_types_are(has_narrow_codes)) {
      Linear<PairedMultiplier<false>>(params, workspace).run(share);
      return;
    }
#endif
    Linear<PairedMultiplier<true>>(params, workspace).run(share);
    return;
  }
#endif
  Linear<WideMultiplier>(params, workspace).run(share);
}

bool has_codes_on_target([[maybe_unused]] DType dtype) {
#if HWY_TARGET == HWY_SCALAR
  return false;
#else
  return has_codes(dtype);
#endif
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weft {

HWY_EXPORT(linear_on_target);
HWY_EXPORT(has_codes_on_target);

bool multiplies_codes(DType dtype) { return HWY_DYNAMIC_DISPATCH(has_codes_on_target)(dtype); }

void linear_on_cpu(const LinearParams& params, Share share, std::span<std::byte> workspace) {
  HWY_DYNAMIC_DISPATCH(linear_on_target)(params, share, workspace);
}

}  // namespace weft

#endif
