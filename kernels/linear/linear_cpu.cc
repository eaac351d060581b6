#include "weft/kernels/linear/linear_cpu.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "weft/kernels/linear/linear_cpu_avx512bf16.h"
#include "weft/kernels/linear/linear_cpu_avx512vnni.h"
#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/kernels/simd/unroll.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/linear/linear_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/linear/linear_widen-inl.h"
#include "weft/kernels/simd/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kGroupOutputs = LinearPlan::kGroupOutputs;

// The sums of a tile stay in registers: 12 x 2 of AVX-512's 32, 6 x 2 of AVX2's 16, with room for a
// row's number and the weights.
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
    __builtin_prefetch(ahead, 0, 2);  // into the second-level cache
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

/// One row by panels that are not f32: widened on their way into the sums, never stored.
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

/// The panels that rows pass by at once. Of a mixed weight they may differ.
struct PanelGroup {
  std::array<PackedPanel, LinearPlan::kGroupPanels> panels;
  std::int64_t count = 0;
  bool is_one_piece = true;  ///< of one type, one after the other

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

/// Weights as f32: where they are not, a block is widened into the workspace first.
struct WideMultiplier {
  static constexpr std::int64_t kRows = kTileRows;
  static constexpr int kPanels = kTilePanels;
  static constexpr std::int64_t kStep = LinearPlan::kWideInputs;

  static std::int64_t words_of(std::int64_t inputs) { return inputs; }
  /// Of blocks to the next lower byte: nothing but what is fetched ahead depends on it.
  static std::int64_t word_bytes(const PackedLayout& layout) {
    if (layout.keeps_blocks()) return layout.panel_bytes() / layout.inputs;
    return kLanes * layout.element_bytes();
  }

  HWY_ATTR static void pack_row(const float* row, std::int64_t inputs, std::uint32_t* to,
                                std::int64_t stride) {
    if (stride == 1) {
      std::memcpy(to, row, static_cast<std::size_t>(inputs) * sizeof(float));
      return;
    }
    for (std::int64_t i = 0; i < inputs; ++i) to[i * stride] = std::bit_cast<std::uint32_t>(row[i]);
  }

  /// Sets where words [first, first + count) of a group stand.
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

  /// The whole of a group for one row; false where a tile does as well.
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

#if HWY_TARGET == HWY_AVX3
/// bf16 times bf16, as the processor multiplies them.
struct Bf16Multiplier {
  static constexpr std::int64_t kRows = avx512bf16::kTileRows;
  static constexpr int kPanels = 2;
  static constexpr std::int64_t kStep = LinearPlan::kBlockWords;

  static std::int64_t words_of(std::int64_t inputs) { return (inputs + 1) / 2; }
  static std::int64_t word_bytes(const PackedLayout& /*layout*/) { return kLanes * 4; }

  static void pack_row(const float* row, std::int64_t inputs, std::uint32_t* to,
                       std::int64_t stride) {
    avx512bf16::pack_row(row, inputs, to, stride);
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

  static void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile) {
    avx512bf16::multiply_tile(rows, panels, tile);
  }
};

/// Codes of weights times int8. A tile's weights are a group that was unpacked to the workspace.
struct CodedMultiplier {
  static constexpr std::int64_t kRows = avx512vnni::kTileRows;
  static constexpr int kPanels = 2;
  static constexpr std::int64_t kStep =
      avx512vnni::kStepInputs / avx512vnni::kBlockInputs * avx512vnni::kBlockWords;
  static_assert(kPanels == LinearPlan::kGroupPanels);
  static_assert(sizeof(avx512vnni::CodedGroup) <= LinearPlan::kWideBytes);

  static std::int64_t words_of(std::int64_t inputs) {
    return inputs / avx512vnni::kBlockInputs * avx512vnni::kBlockWords;
  }
  /// Nothing is fetched ahead: unpacking reads the weights in the order of memory.
  static std::int64_t word_bytes(const PackedLayout& /*layout*/) { return 0; }

  static void pack_row(const float* row, std::int64_t inputs, std::uint32_t* to,
                       std::int64_t stride) {
    avx512vnni::pack_row(row, inputs, to, stride);
  }

  static void find_weights(const PanelGroup& group, std::int64_t first, std::int64_t count,
                           float* wide, LinearTile& tile) {
    const auto inputs = [](std::int64_t words) {
      return words / avx512vnni::kBlockWords * avx512vnni::kBlockInputs;
    };
    auto& coded = *reinterpret_cast<avx512vnni::CodedGroup*>(wide);
    for (std::size_t panel = 0; panel < static_cast<std::size_t>(group.count); ++panel) {
      coded.panels[panel] =
          avx512vnni::unpack(group.panels[panel], inputs(first), inputs(count), coded.rooms[panel]);
    }
    tile.panels = reinterpret_cast<const std::byte*>(wide);
    tile.panel_stride = 0;
  }

  static bool multiply_one(const PanelGroup& /*group*/, const std::uint32_t* /*row*/,
                           float* /*sums*/) {
    return false;
  }

  static void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile) {
    const auto& coded = *reinterpret_cast<const avx512vnni::CodedGroup*>(tile.panels);
    avx512vnni::multiply_tile(rows, panels, coded.panels.data(), tile);
  }
};
#endif

/// The first `count` lanes at `from`; the others are zero and their memory is not touched.
HWY_ATTR Floats load_lanes(const float* from, std::int64_t count) {
  if (count >= kWidth) return hn::LoadU(kFloats, from);
  const auto mask = hn::FirstN(kFloats, static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  return hn::MaskedLoad(mask, kFloats, from);
}

HWY_ATTR void store_lanes(Floats value, float* to, std::int64_t count) {
  if (count >= kWidth) {
    hn::StoreU(value, kFloats, to);
    return;
  }
  const auto mask = hn::FirstN(kFloats, static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  hn::BlendedStore(value, mask, kFloats, to);
}

/// What happens to sums between the tile and `out`.
class Epilogue {
 public:
  explicit Epilogue(const LinearParams& params) : params_(params) {}

  /// Rows [first_row, first_row + rows) of `out`, the outputs of panels [panel, panel + panels).
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
        const std::int64_t count = outputs - output;
        const Floats value = gated ? combine(at, output, count) : transform(at, output, count);
        write(value, first_row + r, output, count);
      }
    }
  }

 private:
  HWY_ATTR Floats biased(const float* sum, std::int64_t output, std::int64_t count) const {
    const Floats value = hn::Load(kFloats, sum);
    if (params_.bias == nullptr) return value;
    return hn::Add(value, load_lanes(params_.bias + output, count));
  }

  HWY_ATTR Floats transform(const float* sum, std::int64_t output, std::int64_t count) const {
    const Floats value = activate(kFloats, params_.spec.activation, biased(sum, output, count));
    if (!(params_.spec.soft_cap > 0)) return value;
    const Floats cap = hn::Set(kFloats, params_.spec.soft_cap);
    return hn::Mul(cap, tanh_of(kFloats, hn::Div(value, cap)));
  }

  HWY_ATTR Floats combine(const float* sum, std::int64_t output, std::int64_t count) const {
    Floats gate = biased(sum, output, count);
    Floats up = biased(sum + kLanes, params_.weight->outputs() + output, count);
    if (params_.spec.gate_limit > 0) {
      // Written so that NaN stays NaN.
      const Floats most = hn::Set(kFloats, params_.spec.gate_limit);
      const Floats least = hn::Neg(most);
      gate = hn::IfThenElse(hn::Gt(gate, most), most, gate);
      up = hn::IfThenElse(hn::Gt(up, most), most, up);
      up = hn::IfThenElse(hn::Lt(up, least), least, up);
    }
    const Floats opened =
        params_.spec.gate_alpha != 0
            ? hn::Mul(gate,
                      sigmoid_of(kFloats, hn::Mul(gate, hn::Set(kFloats, params_.spec.gate_alpha))))
            : activate(kFloats, params_.spec.activation, gate);
    return hn::Mul(opened, hn::Add(up, hn::Set(kFloats, params_.spec.up_offset)));
  }

  HWY_ATTR void write(Floats value, std::int64_t row, std::int64_t output,
                      std::int64_t count) const {
    value = hn::Mul(value, hn::Set(kFloats, params_.spec.scale));
    if (params_.residual.data != nullptr) {
      value = hn::Add(load_lanes(params_.residual.row(row) + output, count), value);
    }
    store_lanes(value, params_.out.row(row) + output, count);
  }

  const LinearParams& params_;
};

/// The op for one thread: its panels, all rows.
template <class Multiplier>
class Linear {
 public:
  HWY_ATTR Linear(const LinearParams& params, std::span<std::byte> workspace)
      : params_(params),
        layout_(params.weight->layout()),
        words_(Multiplier::words_of(layout_.inputs)),
        workspace_(workspace, params.out.count, words_),
        epilogue_(params) {}

  HWY_ATTR void run(Share share) {
    const Share::Range panels = share.of(layout_.panels(), LinearPlan::kGroupPanels);
    if (panels.begin == panels.end) return;
    const std::int64_t step = LinearPlan::block_rows(words_);
    for (std::int64_t row = 0; row < params_.out.count; row += step) {
      const std::int64_t rows = std::min(step, params_.out.count - row);
      pack_rows(row, rows);
      for (std::int64_t panel = panels.begin; panel < panels.end;
           panel += LinearPlan::kGroupPanels) {
        const std::int64_t count = std::min(LinearPlan::kGroupPanels, panels.end - panel);
        multiply_group(rows, panel, count);
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
    /// The rows are dealt out evenly: a tile of one row would cost as much as one of several.
    [[nodiscard]] std::int64_t begin(std::int64_t tile) const { return rows * tile / count; }
  };

  /// Block rows stand in tiles, [words, rows of the tile] each.
  HWY_ATTR void pack_rows(std::int64_t first, std::int64_t rows) {
    const Tiles tiles(rows);
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      const std::int64_t begin = tiles.begin(tile);
      const std::int64_t size = tiles.begin(tile + 1) - begin;
      for (std::int64_t r = 0; r < size; ++r) {
        const std::int64_t out_row = first + begin + r;
        const std::int64_t in_row = params_.input_rows.empty()
                                        ? out_row
                                        : params_.input_rows[static_cast<std::size_t>(out_row)];
        Multiplier::pack_row(params_.in.row(in_row), layout_.inputs,
                             workspace_.rows + begin * words_ + r, size);
      }
    }
  }

  HWY_ATTR void multiply_group(std::int64_t rows, std::int64_t panel, std::int64_t count) {
    const PanelGroup group(*params_.weight, panel, count);
    if (rows == 1 && Multiplier::multiply_one(group, workspace_.rows, workspace_.sums)) return;
    const PackedLayout& layout = *group.panels[0].layout;
    const std::byte* data = group.panels[0].data;
    constexpr std::int64_t kStep = Multiplier::kStep;
    for (std::int64_t word = 0; word < words_; word += kStep) {
      LinearTile block{.words = std::min(kStep, words_ - word), .first = word == 0};
      Multiplier::find_weights(group, word, block.words, workspace_.wide, block);
      const bool ends = word + kStep >= words_;
      block.ahead_step = Multiplier::word_bytes(layout);
      block.ahead = ends ? data + LinearPlan::kGroupPanels * layout.panel_bytes()
                         : data + (word + kStep) * block.ahead_step;
      multiply_block(rows, group, word, block);
    }
  }

  /// The rows pass by one block of the weight. While the first tiles do, the next block is fetched:
  /// without that memory would rest for all tiles but the first.
  HWY_ATTR void multiply_block(std::int64_t rows, const PanelGroup& group, std::int64_t word,
                               const LinearTile& block) {
    const std::int64_t panels = group.count;
    const Tiles tiles(rows);
    std::int64_t fetched = tiles.count == 1 ? panels : 0;  // the processor sees a plain stream
    for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
      const std::int64_t begin = tiles.begin(tile);
      const std::int64_t size = tiles.begin(tile + 1) - begin;
      for (std::int64_t panel = 0; panel < panels; panel += Multiplier::kPanels) {
        LinearTile part = block;
        part.rows = workspace_.rows + begin * words_ + word * size;
        part.panels += panel * block.panel_stride;
        part.sums = workspace_.sums + begin * kGroupOutputs + panel * kLanes;
        if (fetched < panels) {
          part.ahead += fetched++ * group.panels[0].layout->panel_bytes();
        } else {
          part.ahead = part.panels;
          part.ahead_step = 0;
        }
        Multiplier::multiply_tile(size, std::min<std::int64_t>(Multiplier::kPanels, panels - panel),
                                  part);
      }
    }
  }

  const LinearParams& params_;
  const PackedLayout layout_;
  const std::int64_t words_;
  const LinearWorkspace workspace_;
  const Epilogue epilogue_;
};

HWY_ATTR void linear_on_target(const LinearParams& params, Share share,
                               std::span<std::byte> workspace) {
#if HWY_TARGET == HWY_AVX3
  const PackedWeight& weight = *params.weight;
  if (cpu_target() == CpuTarget::kAvx512Bf16) {
    if (weight.all_types_are([](DType dtype) { return dtype == DType::kBF16; })) {
      Linear<Bf16Multiplier>(params, workspace).run(share);
      return;
    }
    if (weight.all_types_are(avx512vnni::has_codes)) {
      Linear<CodedMultiplier>(params, workspace).run(share);
      return;
    }
  }
#endif
  Linear<WideMultiplier>(params, workspace).run(share);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace weft {

HWY_EXPORT(linear_on_target);

void linear_on_cpu(const LinearParams& params, Share share, std::span<std::byte> workspace) {
  HWY_DYNAMIC_DISPATCH(linear_on_target)(params, share, workspace);
}

}  // namespace weft

#endif
