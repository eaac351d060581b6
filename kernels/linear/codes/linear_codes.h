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

  /// A block of 32 inputs in a packed row has 8 words (of 32 bits) of codes, the scale (f32), the
  /// sum of the first 16 codes and the sum of the last 16.
  static constexpr std::int64_t kBlockInputs = 32;
  static constexpr std::int64_t kCodeWords = 8;
  static constexpr std::int64_t kScaleWord = kCodeWords;
  static constexpr std::int64_t kSumWord = kScaleWord + 1;
  static constexpr std::int64_t kBlockWords = kSumWord + 2;
};

/// A block of a packed row for instruction sets that add two products at a time: the codes, as int8
/// or as int16 (of each four codes the first and the third, then the second and the last), then as
/// f32 the scale and the sums of the first 16 codes, of the last 16, and of all. The R rows of a
/// tile are laid out as [block][R][kBlockWords].
template <bool kIsWide>
struct PairedRow {
  static constexpr std::int64_t kCodeWords = (kIsWide ? 2 : 1) * CodedPlan::kCodeWords;
  static constexpr std::int64_t kScaleWord = kCodeWords;
  static constexpr std::int64_t kSumWord = kScaleWord + 1;
  static constexpr std::int64_t kBlockWords = kSumWord + 3;
};

/// Whether the op multiplies by the codes of weights of this type on the current target. It never
/// does on x86-64's portable target.
[[nodiscard]] bool multiplies_codes(DType dtype);

/// A range of one panel's inputs, unpacked for multiplication. A weight is scale * (code - offset)
/// + minimum.
struct CodedPanel {
  const std::byte* codes = nullptr;  ///< [inputs / 4][16][4], u8; of q8_0 int8
  const float* scales = nullptr;     ///< [groups][16]
  const float* minimums = nullptr;   ///< [groups][16], or null
  std::int32_t offset = 0;
  std::int32_t group_words = 8;  ///< words of codes under one scale: 4 or 8
  std::int32_t largest = 255;    ///< the largest possible code
  bool is_signed = false;        ///< int8 codes: the kernel adds 128, which is the offset
  bool has_wide_scales = false;  ///< a scale may have over 22 significant bits, or exceed 2^64
  /// Memory that will be unpacked later, which a kernel prefetches during the first tile. Otherwise
  /// loading would stop during multiplication, and multiplication during loading.
  const std::byte* ahead = nullptr;
  std::int64_t ahead_bytes = 0;
};

/// Prefetches CodedPanel::ahead, a part with each block.
class CodedAhead {
 public:
  CodedAhead(const CodedPanel& panel, bool is_wanted, std::int64_t blocks)
      : at_(reinterpret_cast<const char*>(panel.ahead)),
        lines_(is_wanted ? (panel.ahead_bytes + kLine * blocks - 1) / (kLine * blocks) : 0) {}

  __attribute__((always_inline)) void fetch() {
    for (std::int64_t line = 0; line < lines_; ++line, at_ += kLine) {
      __builtin_prefetch(at_, 0, 3);  // into the first-level cache, from which codes are unpacked
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  const char* at_;
  std::int64_t lines_;
};

/// The two panels of a group, and the memory that they are unpacked to.
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
