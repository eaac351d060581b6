#include <algorithm>
#include <cstring>

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/linear/turned_blocks.h"
#include "weft/kernels/simd/narrow_float.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/embedding/embedding_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// The loops are plain: the compiler vectorises them for each instruction set.
HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// A number at an address of any alignment.
template <class T>
HWY_INLINE T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

void widen(DType dtype, const std::byte* from, std::int64_t count, float* HWY_RESTRICT to) {
  if (dtype == DType::kF32) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  } else if (dtype == DType::kF16) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from_f16(read<std::uint16_t>(from + 2 * i));
  } else if (dtype == DType::kBF16) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from_bf16(read<std::uint16_t>(from + 2 * i));
  } else {
    decode_blocks({.dtype = dtype, .data = from, .count = count / block_of(dtype).elements}, to);
  }
}

/// Widens one lane of a panel, in which groups of `kTogether` numbers of its lanes alternate.
template <class T, std::int64_t kTogether, class Widen>
void widen_lane(const std::byte* from, std::int64_t count, float* HWY_RESTRICT to,
                const Widen& widen_one) {
  constexpr std::int64_t kSize = sizeof(T);
  constexpr std::int64_t kStep = PackedLayout::kPanelOutputs * kTogether * kSize;
  for (std::int64_t i = 0; i < count; i += kTogether, from += kStep) {
    const std::int64_t together = std::min(kTogether, count - i);
    for (std::int64_t j = 0; j < together; ++j) to[i + j] = widen_one(read<T>(from + j * kSize), i);
  }
}

/// Widens a row of a packed weight, with the same bits as widen() of the table's row.
void widen_packed(const PackedWeight& weight, std::int64_t row, float* HWY_RESTRICT to) {
  const PackedLayout& layout = weight.layout();
  const std::int64_t lane = layout.lane_of(row);
  const std::byte* panel = weight.data() + layout.panel_of(row) * layout.panel_bytes();
  const std::int64_t count = layout.inputs;
  if (layout.keeps_blocks()) {
    decode_turned(layout.dtype, panel, lane, count / block_of(layout.dtype).elements, to);
    return;
  }
  const std::byte* from = panel + layout.offset(lane, 0);
  if (layout.dtype == DType::kF32) {
    widen_lane<float, 1>(from, count, to, [](float value, std::int64_t) { return value; });
  } else if (layout.dtype == DType::kF16) {
    widen_lane<std::uint16_t, 1>(from, count, to,
                                 [](std::uint16_t bits, std::int64_t) { return from_f16(bits); });
  } else if (layout.dtype == DType::kBF16) {
    widen_lane<std::uint16_t, 2>(from, count, to,
                                 [](std::uint16_t bits, std::int64_t) { return from_bf16(bits); });
  } else {
    widen_lane<std::int8_t, 4>(from, count, to, [&](std::int8_t number, std::int64_t input) {
      return from_f16(read<std::uint16_t>(panel + layout.scale_offset(lane, input))) *
             static_cast<float>(number);
    });
  }
}

void embed_rows(const EmbeddingParams& params, Share::Range tokens) {
  const std::int64_t width = params.out.width;
  const std::int64_t row_bytes =
      *bytes_of(params.dtype, params.table_width > 0 ? params.table_width : width);
  const std::int64_t first_byte = *bytes_of(params.dtype, params.first_column);
  const std::int64_t rows = params.rows < 0 ? params.vocabulary : params.rows;
  for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
    const auto token = static_cast<std::size_t>(t);
    float* HWY_RESTRICT out = params.out.row(t);
    const std::int64_t row = params.ids[token] - params.first_row;
    const bool is_here = row >= 0 && row < rows;
    if (is_here && params.packed != nullptr) {
      widen_packed(*params.packed, row, out);
    } else if (is_here && params.table != nullptr) {
      widen(params.dtype, params.table + row * row_bytes + first_byte, width, out);
    } else {
      std::fill_n(out, width, 0.0F);
    }
    if (params.spec.scale != 1) {
      for (std::int64_t i = 0; i < width; ++i) out[i] *= params.spec.scale;
    }
    if (params.positions != nullptr) {
      const float* position =
          params.positions + (params.position_ids[token] + params.spec.position_offset) * width;
      for (std::int64_t i = 0; i < width; ++i) out[i] += position[i];
    }
    if (params.constant != nullptr) {
      const std::int64_t which = params.constant_ids.empty() ? 0 : params.constant_ids[token];
      const float* constant = params.constant + which * width;
      for (std::int64_t i = 0; i < width; ++i) out[i] += constant[i];
    }
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(embed_rows);

void cpu::embed(const EmbeddingParams& params, Share::Range tokens) {
  HWY_DYNAMIC_DISPATCH(embed_rows)(params, tokens);
}

}  // namespace weft
#endif  // HWY_ONCE
