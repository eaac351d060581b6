#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/packed_weight.h"

namespace weft::avx512vnni {

/// Inputs whose codes are unpacked at once: two blocks of 256.
inline constexpr std::int64_t kStepInputs = 512;

/// Whether the op can multiply by the codes of such weights. Never where there is no AVX-512.
[[nodiscard]] bool has_codes(DType dtype) noexcept;

/// Inputs of one panel as the multiplication takes them. A weight is scale * (code - offset) +
/// minimum.
struct CodedPanel {
  const std::byte* codes = nullptr;  ///< [inputs / 4][16][4], u8; of q8_0 int8
  const float* scales = nullptr;     ///< [groups][16]
  const float* minimums = nullptr;   ///< [groups][16], or null
  std::int32_t offset = 0;
  std::int32_t group_words = 8;  ///< words of codes under one scale
  bool is_signed = false;        ///< int8: 128 is added on the way, and is the offset
};

/// The two panels of a group, and where they are unpacked to.
struct alignas(64) CodedGroup {
  static constexpr std::size_t kCodeBytes = kStepInputs * PackedLayout::kPanelOutputs;
  static constexpr std::size_t kScales = kStepInputs / 16 * PackedLayout::kPanelOutputs;

  struct alignas(64) Room {
    std::array<std::byte, kCodeBytes> codes;
    std::array<float, kScales> scales;
    std::array<float, kScales> minimums;
  };
  std::array<Room, 2> rooms;
  std::array<CodedPanel, 2> panels;
};

/// Unpacks inputs [first, first + count) of a panel, at whole blocks.
CodedPanel unpack(const PackedPanel& panel, std::int64_t first, std::int64_t count,
                  CodedGroup::Room& room);

}  // namespace weft::avx512vnni
