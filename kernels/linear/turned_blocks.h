#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

namespace weft {

/// How 16 blocks of an encoding, one of each output of a panel, stand side by side in a weight.
/// Where weights are multiplied by their codes, blocks are cut into units of 4, 2 or 1 bytes, and
/// the same unit of all 16 blocks stands together: a vector then loads what it needs of every
/// output at once. The unit that begins at byte `at` of a block begins at byte 16 * at of such a
/// row of blocks. Blocks of other encodings stand whole, one after the other.
class TurnedBlocks {
 public:
  static constexpr std::int64_t kBlocks = 16;

  explicit TurnedBlocks(DType dtype) noexcept;

  [[nodiscard]] bool are_whole() const noexcept { return are_whole_; }
  [[nodiscard]] std::int64_t block_bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::int64_t row_bytes() const noexcept { return kBlocks * bytes_; }
  /// Where the units of 4 bytes begin, and how many there are; they follow each other. Before and
  /// after them a block has units of 2 bytes, the last of 1 where their number of bytes is odd.
  [[nodiscard]] std::int64_t words_at() const noexcept { return head_; }
  [[nodiscard]] std::int64_t words() const noexcept { return (bytes_ - head_ - tail_) / 4; }

  /// Writes a block to its place in a row.
  void put(const std::byte* block, std::int64_t lane, std::byte* row) const noexcept;
  /// Writes those units of a block that are not of 4 bytes.
  void put_rest(const std::byte* block, std::int64_t lane, std::byte* row) const noexcept;
  /// Reads a block from its place in a row.
  void take(const std::byte* row, std::int64_t lane, std::byte* block) const noexcept;

 private:
  std::int64_t bytes_;
  std::int64_t head_ = 0;  ///< bytes before the units of 4
  std::int64_t tail_ = 0;  ///< bytes after them
  bool are_whole_ = true;
};

/// Decodes `count` blocks of one lane, whose rows stand one after the other: decode_blocks()
/// (encoding.h) of them.
void decode_turned(DType dtype, const std::byte* rows, std::int64_t lane, std::int64_t count,
                   float* to);

}  // namespace weft
