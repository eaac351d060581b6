// Widens packed weights to float32, panel by panel. For linear_cpu.cc. The include guard is
// Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_LINEAR_WIDEN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LINEAR_WIDEN_INL_H
#undef WEFT_KERNELS_LINEAR_WIDEN_INL_H
#else
#define WEFT_KERNELS_LINEAR_WIDEN_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/linear/packed_layout.h"
#include "weft/kernels/linear/turned_blocks.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/kernels/simd/transpose-inl.h"
#include "weft/kernels/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;

constexpr hn::CappedTag<float, kLanes> kFloats;
using Floats = hn::Vec<decltype(kFloats)>;
constexpr std::int64_t kWidth = static_cast<std::int64_t>(hn::MaxLanes(kFloats));
constexpr int kPanelVectors = static_cast<int>(kLanes / kWidth);

/// The widen functions call use(i, p, v, weights) with vector v of panel p as f32, for every input
/// i of [0, count); the calls for one vector come in the order of the inputs.
template <int kPanels, class Use>
HWY_ATTR HWY_INLINE void widen_bf16(const std::byte* panels, std::int64_t stride,
                                    std::int64_t count, const Use& use) {
  const hn::RebindToUnsigned<decltype(kFloats)> words;
  const auto high = hn::Set(words, 0xffff0000U);
  for (std::int64_t i = 0; i < count; i += 2) {
    WEFT_UNROLL
    for (int at = 0; at < kPanels * kPanelVectors; ++at) {
      const int p = at / kPanelVectors;
      const int v = at % kPanelVectors;
      const auto* pairs = reinterpret_cast<const std::uint32_t*>(panels + p * stride);
      const auto pair = hn::Load(words, pairs + i / 2 * kLanes + v * kWidth);
      use(i, p, v, hn::BitCast(kFloats, hn::ShiftLeft<16>(pair)));
      if (i + 1 < count) use(i + 1, p, v, hn::BitCast(kFloats, hn::And(pair, high)));
    }
  }
}

template <int kPanels, class Use>
HWY_ATTR HWY_INLINE void widen_f16(const std::byte* panels, std::int64_t stride, std::int64_t count,
                                   const Use& use) {
  for (std::int64_t i = 0; i < count; ++i) {
    WEFT_UNROLL
    for (int at = 0; at < kPanels * kPanelVectors; ++at) {
      const int p = at / kPanelVectors;
      const int v = at % kPanelVectors;
      const std::byte* from = panels + p * stride + (i * kLanes + v * kWidth) * 2;
#if HWY_TARGET == HWY_SCALAR
      use(i, p, v, hn::Set(kFloats, from_f16(*reinterpret_cast<const std::uint16_t*>(from))));
#else
      const hn::Rebind<hwy::float16_t, decltype(kFloats)> halves;
      const auto half = hn::Load(halves, reinterpret_cast<const hwy::float16_t*>(from));
      use(i, p, v, hn::PromoteTo(kFloats, half));
#endif
    }
  }
}

/// Widens one block: 32 inputs, with one scale for each output.
template <int kPanels, class Use>
HWY_ATTR HWY_INLINE void widen_q8_0_block(const std::byte* panels, const std::byte* scales,
                                          std::int64_t stride, std::int64_t first, const Use& use) {
  const hn::RebindToSigned<decltype(kFloats)> words;
  Floats scale[kPanels * kPanelVectors];
  widen_f16<kPanels>(scales, stride, 1, [&](std::int64_t, int p, int v, Floats value) HWY_ATTR {
    scale[p * kPanelVectors + v] = value;
  });
  for (std::int64_t i = 0; i < PackedLayout::kBlock; i += 4) {
    WEFT_UNROLL
    for (int at = 0; at < kPanels * kPanelVectors; ++at) {
      const int p = at / kPanelVectors;
      const int v = at % kPanelVectors;
      const auto* fours = reinterpret_cast<const std::int32_t*>(panels + p * stride);
      const auto four = hn::Load(words, fours + (first + i) / 4 * kLanes + v * kWidth);
      const auto widen = [&](auto number) HWY_ATTR {
        return hn::Mul(hn::ConvertTo(kFloats, number), scale[at]);
      };
      use(first + i, p, v, widen(hn::ShiftRight<24>(hn::ShiftLeft<24>(four))));
      use(first + i + 1, p, v, widen(hn::ShiftRight<24>(hn::ShiftLeft<16>(four))));
      use(first + i + 2, p, v, widen(hn::ShiftRight<24>(hn::ShiftLeft<8>(four))));
      use(first + i + 3, p, v, widen(hn::ShiftRight<24>(four)));
    }
  }
}

template <int kPanels, class Use>
HWY_ATTR HWY_INLINE void widen(const PackedLayout& layout, const std::byte* panels,
                               std::int64_t first, std::int64_t count, const Use& use) {
  const std::int64_t stride = layout.panel_bytes();
  const std::byte* from = panels + first * kLanes * layout.element_bytes();
  if (layout.dtype == DType::kBF16) {
    widen_bf16<kPanels>(from, stride, count, use);
  } else if (layout.dtype == DType::kF16) {
    widen_f16<kPanels>(from, stride, count, use);
  } else {
    for (std::int64_t block = 0; block < count; block += PackedLayout::kBlock) {
      const std::byte* scales = panels + layout.scale_offset(0, first + block);
      widen_q8_0_block<kPanels>(from, scales, stride, block, use);
    }
  }
}

/// Widens a panel of the file's blocks: decodes output by output, then transposes.
HWY_ATTR void widen_blocks(const PackedLayout& layout, const std::byte* panel, std::int64_t first,
                           std::int64_t count, float* HWY_RESTRICT to) {
  alignas(64) std::array<float, kLanes * LinearPlan::kWideInputs> rows;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    decode_turned(layout.dtype, panel + layout.block_row_offset(first), lane,
                  count / block_of(layout.dtype).elements,
                  rows.data() + lane * LinearPlan::kWideInputs);
  }
  transpose_sixteen(reinterpret_cast<const std::uint32_t*>(rows.data()), LinearPlan::kWideInputs,
                    count, reinterpret_cast<std::uint32_t*>(to));
}

/// Widens inputs [first, first + count) of a panel to f32 [count, 16].
HWY_ATTR void widen_panel(const PackedLayout& layout, const std::byte* panel, std::int64_t first,
                          std::int64_t count, float* HWY_RESTRICT to) {
  if (layout.keeps_blocks()) {
    widen_blocks(layout, panel, first, count, to);
    return;
  }
  if (layout.dtype == DType::kF32) {
    std::memcpy(to, panel + first * kLanes * 4, static_cast<std::size_t>(count * kLanes) * 4);
    return;
  }
  widen<1>(layout, panel, first, count, [&](std::int64_t i, int, int v, Floats value) HWY_ATTR {
    hn::Store(value, kFloats, to + i * kLanes + v * kWidth);
  });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_LINEAR_WIDEN_INL_H
