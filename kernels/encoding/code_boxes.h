#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"
#include "weft/core/encodings.h"

namespace weft {

/// How a GPU that multiplies codes holds blocks whose bytes are no multiple of 16: a box has the
/// blocks of kRows outputs and `columns` inputs, taken apart into planes, each with a part for
/// each row:
///
///   codes   as they follow one another in the row's blocks
///   high    the upper bits of codes that are longer than four
///   scales  as they follow one another
///   rest    zeros, or the scale of all scales
///
/// Bits are those of the file. A row's parts of 16 bytes stand in an order of their own in planes
/// of codes, so that tensor cores' operands come from different banks. Boxes of a run of outputs
/// lie one after the other: all along the first kRows outputs, then those of the next.
struct CodeBox {
  static constexpr std::int64_t kRows = 64;

  std::int32_t columns = 0;
  std::int32_t codes = 0;  ///< bytes of a row's part
  std::int32_t high = 0;
  std::int32_t scales = 0;
  std::int32_t rest = 0;

  friend constexpr bool operator==(const CodeBox&, const CodeBox&) = default;
  [[nodiscard]] constexpr bool exists() const noexcept { return columns > 0; }
  [[nodiscard]] constexpr std::int32_t row_bytes() const noexcept {
    return codes + high + scales + rest;
  }
  [[nodiscard]] constexpr std::int32_t bytes() const noexcept {
    return static_cast<std::int32_t>(kRows) * row_bytes();
  }
  [[nodiscard]] constexpr std::int32_t high_at() const noexcept {
    return static_cast<std::int32_t>(kRows) * codes;
  }
  [[nodiscard]] constexpr std::int32_t scales_at() const noexcept {
    return high_at() + static_cast<std::int32_t>(kRows) * high;
  }
  [[nodiscard]] constexpr std::int32_t rest_at() const noexcept {
    return scales_at() + static_cast<std::int32_t>(kRows) * scales;
  }

  /// Where byte `byte` of a row's codes stands in its part.
  [[nodiscard]] static constexpr std::int32_t code_place(std::int32_t row, std::int32_t byte) {
    return byte ^ ((row & 3) << 5 | (row >> 2 & 1) << 4);
  }
  /// As code_place(), in the plane of upper bits.
  [[nodiscard]] static constexpr std::int32_t high_place(std::int32_t row, std::int32_t byte) {
    return byte ^ ((row >> 1 & 1) << 5 | (row >> 2 & 1) << 4);
  }
};

/// Returns the box of an encoding; !exists() if it is not held in boxes. A row's part has kRowCodes
/// bytes of codes: the codes of some whole blocks, or a part of one block's codes and its scale.
[[nodiscard]] constexpr CodeBox box_of(DType dtype) noexcept {
  constexpr std::int32_t kRowCodes = 128;
  if (!is_encoding(dtype)) return {};
  const Encoding& row = encoding_row(dtype);
  if (row.tensor_codes != TensorCodes::kBoxes) return {};
  const BlockPieces& pieces = row.pieces;
  const auto elements = static_cast<std::int32_t>(row.block.elements);
  const std::int32_t blocks = pieces.codes < kRowCodes ? kRowCodes / pieces.codes : 1;
  return {elements * kRowCodes / pieces.codes, kRowCodes, blocks * pieces.high,
          blocks * pieces.scales, blocks * pieces.rest};
}

/// Bytes of `outputs` outputs of `inputs` inputs in boxes, which they fill.
[[nodiscard]] constexpr std::int64_t boxed_bytes(DType dtype, std::int64_t outputs,
                                                 std::int64_t inputs) noexcept {
  const CodeBox box = box_of(dtype);
  return outputs / CodeBox::kRows * (inputs / box.columns) * box.bytes();
}

/// Whether outputs of so many inputs fill boxes of an encoding.
[[nodiscard]] inline bool fill_boxes(DType dtype, std::int64_t outputs,
                                     std::int64_t inputs) noexcept {
  const CodeBox box = box_of(dtype);
  return box.exists() && outputs > 0 && outputs % CodeBox::kRows == 0 &&
         inputs % box.columns == 0 && inputs % block_of(dtype).elements == 0;
}

/// Writes the blocks of CodeBox::kRows outputs, row by row as in a file, to their boxes, one after
/// the other. Both are whole: `inputs` fills boxes.
void put_in_boxes(DType dtype, std::int64_t inputs, std::span<const std::byte> blocks,
                  std::span<std::byte> boxes);

/// The inverse for one row: its blocks as in a file.
void take_from_boxes(DType dtype, std::int64_t inputs, std::int32_t row,
                     std::span<const std::byte> boxes, std::span<std::byte> blocks);

}  // namespace weft
