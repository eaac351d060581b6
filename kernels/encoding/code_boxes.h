#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"
#include "weft/core/encodings.h"

namespace weft {

/// The layout in which GPUs multiply the codes of encodings whose blocks' bytes are no multiple of
/// 16. A box holds the blocks of kRows outputs and `columns` inputs, split into planes; a plane has
/// a part for each row:
///
///   codes   in the order of the row's blocks
///   high    the upper bits of codes of more than four bits
///   scales  in the order of the row's blocks
///   rest    zeros, or the scale of all scales
///
/// The bits are the file's. In planes of codes, a row's pieces of 16 bytes are permuted, so that
/// the operands of tensor cores come from different banks. Boxes lie one after the other: first
/// all boxes of the first kRows outputs, then all boxes of the next kRows.
struct CodeBox {
  static constexpr std::int64_t kRows = 64;

  std::int32_t columns = 0;
  std::int32_t codes = 0;  ///< bytes of codes of a row
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

  /// The place in the row's part of byte `byte` of the row's codes.
  [[nodiscard]] static constexpr std::int32_t code_place(std::int32_t row, std::int32_t byte) {
    return byte ^ ((row & 3) << 5 | (row >> 2 & 1) << 4);
  }
  /// Returns the place in the plane of upper bits, likewise.
  [[nodiscard]] static constexpr std::int32_t high_place(std::int32_t row, std::int32_t byte) {
    return byte ^ ((row >> 1 & 1) << 5 | (row >> 2 & 1) << 4);
  }
};

/// Returns the box of an encoding; !exists() if the encoding has no boxes. A row of a box has
/// kRowCodes bytes of codes: the codes of some whole blocks, or a part of one block's codes with
/// its scale.
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

/// Bytes of the boxes of `outputs` outputs of `inputs` inputs, which fill whole boxes.
[[nodiscard]] constexpr std::int64_t boxed_bytes(DType dtype, std::int64_t outputs,
                                                 std::int64_t inputs) noexcept {
  const CodeBox box = box_of(dtype);
  return outputs / CodeBox::kRows * (inputs / box.columns) * box.bytes();
}

/// Whether `outputs` outputs and `inputs` inputs fill whole boxes of an encoding.
[[nodiscard]] inline bool fill_boxes(DType dtype, std::int64_t outputs,
                                     std::int64_t inputs) noexcept {
  const CodeBox box = box_of(dtype);
  return box.exists() && outputs > 0 && outputs % CodeBox::kRows == 0 &&
         inputs % box.columns == 0 && inputs % block_of(dtype).elements == 0;
}

/// Writes the blocks of CodeBox::kRows outputs, row by row as in a file, to consecutive boxes.
/// `inputs` must fill whole boxes.
void put_in_boxes(DType dtype, std::int64_t inputs, std::span<const std::byte> blocks,
                  std::span<std::byte> boxes);

/// The inverse for one row: writes its blocks as in a file.
void take_from_boxes(DType dtype, std::int64_t inputs, std::int32_t row,
                     std::span<const std::byte> boxes, std::span<std::byte> blocks);

}  // namespace weft
