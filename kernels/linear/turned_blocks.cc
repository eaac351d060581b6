#include "weft/kernels/linear/turned_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "weft/core/encodings.h"
#include "weft/kernels/encoding/encoding.h"

namespace weft {
namespace {

/// Calls use(at, size) for the units of 2 bytes and of 1 byte in [begin, end).
template <class Use>
void for_small_units(std::int64_t begin, std::int64_t end, const Use& use) {
  for (; begin + 2 <= end; begin += 2) use(begin, 2);
  if (begin < end) use(begin, 1);
}

void copy(const std::byte* from, std::byte* to, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

TurnedBlocks::TurnedBlocks(DType dtype) noexcept : bytes_(block_of(dtype).bytes) {
  if (!is_encoded(dtype)) return;
  const BlockWords& words = encoding_row(dtype).words;
  head_ = words.head;
  tail_ = words.tail;
  are_whole_ = !words.exist;
}

void TurnedBlocks::put(const std::byte* block, std::int64_t lane, std::byte* row) const noexcept {
  if (are_whole_) return copy(block, row + lane * bytes_, bytes_);
  put_rest(block, lane, row);
  for (std::int64_t at = head_; at < bytes_ - tail_; at += 4) {
    copy(block + at, row + kBlocks * at + lane * 4, 4);
  }
}

void TurnedBlocks::put_rest(const std::byte* block, std::int64_t lane,
                            std::byte* row) const noexcept {
  const auto put_unit = [&](std::int64_t at, std::int64_t size) {
    copy(block + at, row + kBlocks * at + lane * size, size);
  };
  for_small_units(0, head_, put_unit);
  for_small_units(bytes_ - tail_, bytes_, put_unit);
}

void TurnedBlocks::take(const std::byte* row, std::int64_t lane, std::byte* block) const noexcept {
  if (are_whole_) return copy(row + lane * bytes_, block, bytes_);
  const auto take_unit = [&](std::int64_t at, std::int64_t size) {
    copy(row + kBlocks * at + lane * size, block + at, size);
  };
  for_small_units(0, head_, take_unit);
  for (std::int64_t at = head_; at < bytes_ - tail_; at += 4) take_unit(at, 4);
  for_small_units(bytes_ - tail_, bytes_, take_unit);
}

void decode_turned(DType dtype, const std::byte* rows, std::int64_t lane, std::int64_t count,
                   float* to) {
  const TurnedBlocks turned(dtype);
  const std::int64_t bytes = turned.block_bytes();
  if (turned.are_whole()) {
    decode_blocks(
        {.dtype = dtype, .data = rows + lane * bytes, .count = count, .stride = turned.row_bytes()},
        to);
    return;
  }
  std::array<std::byte, 1024> blocks;  // several blocks for each dispatch of the decoder
  const std::int64_t most = std::ssize(blocks) / bytes;
  const std::int64_t elements = block_of(dtype).elements;
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t some = std::min(most, count - done);
    for (std::int64_t i = 0; i < some; ++i, rows += turned.row_bytes()) {
      turned.take(rows, lane, blocks.data() + i * bytes);
    }
    decode_blocks({.dtype = dtype, .data = blocks.data(), .count = some}, to + done * elements);
  }
}

}  // namespace weft
