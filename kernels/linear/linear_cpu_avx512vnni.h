#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/linear/packed_weight.h"

namespace weft::avx512vnni {

/// The parts of the linear op that multiply codes of weights by int8 on AVX512-VNNI (VPDPBUSD).
/// Only where cpu_target() says so. A row's numbers are rounded to int8 in blocks of 32, each with
/// a scale of its own, so that a block's largest number is +-127. Sums of products of codes are
/// exact; they are scaled and added in the order of the blocks.

/// Most rows of a tile: with two panels, 12 sums of integers and 12 of floats.
inline constexpr std::int64_t kTileRows = 6;

/// Words of 32 bits that a block of 32 inputs takes in a packed row: 8 of codes, the scale (f32),
/// the sum of the first 16 codes and that of the others.
inline constexpr std::int64_t kBlockInputs = 32;
inline constexpr std::int64_t kBlockWords = 11;

/// Inputs whose codes are unpacked at once: two blocks of 256.
inline constexpr std::int64_t kStepInputs = 512;

/// Whether the op can multiply by the codes of such weights.
[[nodiscard]] bool has_codes(DType dtype) noexcept;

/// Inputs of one panel as the multiplication takes them. A weight is scale * (code - offset) +
/// minimum.
struct CodedPanel {
  const std::byte* codes = nullptr;  ///< [inputs / 4][16][4], u8 up to 127; of q8_0 as int8
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

/// Rounds a row and writes its words `stride` words apart. A block with a number that is not finite
/// gets the scale NaN.
void pack_row(const float* row, std::int64_t inputs, std::uint32_t* to, std::int64_t stride);

/// 1 to kTileRows rows, 1 or 2 panels, which may differ in type. Of the tile rows, words, sums and
/// first are looked at.
void multiply_tile(std::int64_t rows, std::int64_t panels, const CodedPanel* coded,
                   const LinearTile& tile);

}  // namespace weft::avx512vnni
