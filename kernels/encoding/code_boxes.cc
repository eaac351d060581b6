#include "weft/kernels/encoding/code_boxes.h"

#include <algorithm>
#include <cstring>

#include "weft/kernels/require.h"

namespace weft {
namespace {

/// Calls copy(in_block, in_box, bytes) for each piece of a block that lies in one box. The block is
/// the box's `index`-th of a row; a block longer than a box has its `part`-th part there.
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
  require(box.exists(), "an encoding that is not held in boxes");
  const BlockPieces& pieces = encoding_row(dtype).pieces;
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
