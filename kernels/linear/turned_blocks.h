#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

namespace weft {

/// The layout of a row of blocks in a weight: 16 blocks of an encoding, one for each output of a
/// panel. Where weights are multiplied by their codes, blocks are cut into units of 4, 2 or 1 bytes
/// and interleaved: the same unit of all 16 blocks is contiguous, so one vector load serves all
/// outputs. The unit at byte `at` of a block begins at byte 16 * at of the row. Blocks of other
/// encodings stay whole, one after the other.
class TurnedBlocks {
 public:
  static constexpr std::int64_t kBlocks = 16;

  explicit TurnedBlocks(DType dtype) noexcept;

  [[nodiscard]] bool are_whole() const noexcept { return are_whole_; }
  [[nodiscard]] std::int64_t block_bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::int64_t row_bytes() const noexcept { return kBlocks * bytes_; }
  /// Where a block's units of 4 bytes begin, and their number; they are contiguous. Before and
  /// after them a block has units of 2 bytes, and a last unit of 1 byte if the bytes are odd.
  [[nodiscard]] std::int64_t words_at() const noexcept { return head_; }
  [[nodiscard]] std::int64_t words() const noexcept { return (bytes_ - head_ - tail_) / 4; }

  /// Writes a block to its place in a row.
  void put(const std::byte* block, std::int64_t lane, std::byte* row) const noexcept;
  /// Writes the units of a block that have 2 bytes or 1.
  void put_rest(const std::byte* block, std::int64_t lane, std::byte* row) const noexcept;
  /// Reads a block from its place in a row.
  void take(const std::byte* row, std::int64_t lane, std::byte* block) const noexcept;

 private:
  std::int64_t bytes_;
  std::int64_t head_ = 0;  ///< bytes before the units of 4
  std::int64_t tail_ = 0;  ///< bytes after them
  bool are_whole_ = true;
};

/// Decodes `count` blocks of one lane from consecutive rows, as decode_blocks() (encoding.h)
/// decodes them.
void decode_turned(DType dtype, const std::byte* rows, std::int64_t lane, std::int64_t count,
                   float* to);

}  // namespace weft
