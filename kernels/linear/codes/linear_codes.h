#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/kernels/linear/packed_layout.h"

namespace weft {

/// How the linear op multiplies codes of weights by int8. A row's numbers are rounded to int8 in
/// blocks of 32, each with a scale of its own, so that a block's largest number is +-127. Sums of
/// products of codes are exact; they are scaled and added in the order of the blocks. So the
/// results have the same bits on every instruction set that multiplies codes.
struct CodedPlan {
  /// Inputs whose codes are unpacked at once: two blocks of 256.
  static constexpr std::int64_t kStepInputs = 512;

  /// Words of 32 bits that a block of 32 inputs takes in a packed row: 8 of codes, the scale (f32),
  /// the sum of the first 16 codes and that of the others.
  static constexpr std::int64_t kBlockInputs = 32;
  static constexpr std::int64_t kCodeWords = 8;
  static constexpr std::int64_t kScaleWord = kCodeWords;
  static constexpr std::int64_t kSumWord = kScaleWord + 1;
  static constexpr std::int64_t kBlockWords = kSumWord + 2;
};

/// A block of a packed row where two products are added at a time: the codes, as int8 or as int16
/// (of four the first and the third, then the second and the last), and as f32 the scale, the sum
/// of the first 16 codes, that of the others, and of both. The R rows of a tile stand as
/// [block][R][kBlockWords].
template <bool kIsWide>
struct PairedRow {
  static constexpr std::int64_t kCodeWords = (kIsWide ? 2 : 1) * CodedPlan::kCodeWords;
  static constexpr std::int64_t kScaleWord = kCodeWords;
  static constexpr std::int64_t kSumWord = kScaleWord + 1;
  static constexpr std::int64_t kBlockWords = kSumWord + 3;
};

/// Whether the op multiplies by the codes of such weights on the current target. Never on the
/// portable one of x86-64.
[[nodiscard]] bool multiplies_codes(DType dtype);

/// Inputs of one panel as the multiplication takes them. A weight is scale * (code - offset) +
/// minimum.
struct CodedPanel {
  const std::byte* codes = nullptr;  ///< [inputs / 4][16][4], u8; of q8_0 int8
  const float* scales = nullptr;     ///< [groups][16]
  const float* minimums = nullptr;   ///< [groups][16], or null
  std::int32_t offset = 0;
  std::int32_t group_words = 8;  ///< words of codes under one scale: 4 or 8
  std::int32_t largest = 255;    ///< code that there may be
  bool is_signed = false;        ///< int8: 128 is added on the way, and is the offset
  bool has_wide_scales = false;  ///< some have more than 22 significant bits, or are beyond 2^64
  /// What will be unpacked after these, which a kernel asks for while the first tile passes by.
  /// Memory would rest otherwise while codes are multiplied, and multiplication while they come.
  const std::byte* ahead = nullptr;
  std::int64_t ahead_bytes = 0;
};

/// Asks for the memory that is wanted next, a part of it with each block.
class CodedAhead {
 public:
  CodedAhead(const CodedPanel& panel, bool is_wanted, std::int64_t blocks)
      : at_(reinterpret_cast<const char*>(panel.ahead)),
        lines_(is_wanted ? (panel.ahead_bytes + kLine * blocks - 1) / (kLine * blocks) : 0) {}

  __attribute__((always_inline)) void fetch() {
    for (std::int64_t line = 0; line < lines_; ++line, at_ += kLine) {
      __builtin_prefetch(at_, 0, 3);  // into the first-level cache, from which it is unpacked
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  const char* at_;
  std::int64_t lines_;
};

/// The two panels of a group, and where they are unpacked to.
struct alignas(64) CodedGroup {
  static constexpr std::size_t kCodeBytes = CodedPlan::kStepInputs * PackedLayout::kPanelOutputs;
  static constexpr std::size_t kScales = CodedPlan::kStepInputs / 16 * PackedLayout::kPanelOutputs;

  struct alignas(64) Room {
    std::array<std::byte, kCodeBytes> codes;
    std::array<float, kScales> scales;
    std::array<float, kScales> minimums;
  };
  std::array<Room, 2> rooms;
  std::array<CodedPanel, 2> panels;
};

}  // namespace weft
