#include "weft/kernels/encoding/code_boxes.h"

#include <algorithm>
#include <cstring>

#include "weft/kernels/encoding/integer_codes.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

/// Where the pieces of a block stand, and how many bytes they have.
struct BlockPieces {
  std::int32_t codes_at, codes;
  std::int32_t high_at, high;
  std::int32_t scales_at, scales;
  std::int32_t rest_at, rest;
};

BlockPieces pieces_of(DType dtype) {
  if (const IntegerCodes* codes = integer_codes_of(dtype)) {
    const auto at = static_cast<std::int32_t>(codes->codes_at());
    const auto zeros = static_cast<std::int32_t>(codes->zeros_at());
    return {at, static_cast<std::int32_t>(codes->bytes()) - at, 0, 0, 0, zeros, zeros, 1};
  }
  switch (dtype) {
    case DType::kQ6_K:
      return {0, 128, 128, 64, 192, 16, 208, 2};
    case DType::kQ8_0:
      return {2, 32, 0, 0, 0, 2, 0, 0};
    case DType::kF8_128:
      return {4, 128, 0, 0, 0, 4, 0, 0};
    case DType::kF8_256:
      return {4, 256, 0, 0, 0, 4, 0, 0};
    default:
      internal_error("an encoding that is not held in boxes");
  }
}

/// Calls copy(in_block, in_box, bytes) for what one block has in one box, of which it is the
/// `index`-th; `part` counts the boxes that the block reaches into.
template <class Copy>
void each_piece(const CodeBox& box, const BlockPieces& of, std::int32_t row, std::int32_t index,
                std::int32_t part, const Copy& copy) {
  constexpr std::int32_t kChunk = 16;
  const std::int32_t codes = std::min(of.codes, box.codes);
  for (std::int32_t i = 0; i < codes; i += kChunk) {
    copy(of.codes_at + part * codes + i,
         row * box.codes + CodeBox::code_place(row, index * codes + i), kChunk);
  }
  for (std::int32_t i = 0; i < of.high; i += kChunk) {
    copy(of.high_at + i,
         box.high_at() + row * box.high + CodeBox::high_place(row, index * of.high + i), kChunk);
  }
  copy(of.scales_at, box.scales_at() + row * box.scales + index * of.scales, of.scales);
  copy(of.rest_at, box.rest_at() + row * box.rest + index * of.rest, of.rest);
}

/// Calls copy(in_row, in_boxes, bytes) for all pieces of a row's blocks.
template <class Copy>
void each_piece(DType dtype, std::int64_t inputs, std::int32_t row, const Copy& copy) {
  const CodeBox box = box_of(dtype);
  const BlockPieces pieces = pieces_of(dtype);
  const DTypeBlock block = block_of(dtype);
  const std::int64_t in_box = std::max<std::int64_t>(box.columns / block.elements, 1);
  const std::int64_t parts = std::max<std::int64_t>(block.elements / box.columns, 1);
  for (std::int64_t k = 0; k < inputs; k += std::min<std::int64_t>(box.columns, block.elements)) {
    const std::int64_t from = k / block.elements * block.bytes;
    const std::int64_t to = k / box.columns * box.bytes();
    each_piece(box, pieces, row, static_cast<std::int32_t>(k / block.elements % in_box),
               static_cast<std::int32_t>(k / box.columns % parts),
               [&](std::int32_t in_block, std::int32_t place, std::int32_t bytes) {
                 copy(from + in_block, to + place, static_cast<std::size_t>(bytes));
               });
  }
}

std::int64_t file_row(DType dtype, std::int64_t inputs) {
  return inputs / block_of(dtype).elements * block_of(dtype).bytes;
}

}  // namespace

void put_in_boxes(DType dtype, std::int64_t inputs, std::span<const std::byte> blocks,
                  std::span<std::byte> boxes) {
  const std::int64_t bytes = file_row(dtype, inputs);
  require(static_cast<std::int64_t>(blocks.size()) == bytes * CodeBox::kRows &&
              static_cast<std::int64_t>(boxes.size()) == boxed_bytes(dtype, CodeBox::kRows, inputs),
          "put_in_boxes: sizes");
  for (std::int32_t row = 0; row < CodeBox::kRows; ++row) {
    const std::byte* from = blocks.data() + row * bytes;
    each_piece(dtype, inputs, row,
               [&](std::int64_t in_row, std::int64_t in_boxes, std::size_t count) {
                 std::memcpy(boxes.data() + in_boxes, from + in_row, count);
               });
  }
}

void take_from_boxes(DType dtype, std::int64_t inputs, std::int32_t row,
                     std::span<const std::byte> boxes, std::span<std::byte> blocks) {
  require(static_cast<std::int64_t>(blocks.size()) == file_row(dtype, inputs) &&
              static_cast<std::int64_t>(boxes.size()) == boxed_bytes(dtype, CodeBox::kRows, inputs),
          "take_from_boxes: sizes");
  each_piece(dtype, inputs, row,
             [&](std::int64_t in_row, std::int64_t in_boxes, std::size_t count) {
               std::memcpy(blocks.data() + in_row, boxes.data() + in_boxes, count);
             });
}

}  // namespace weft
