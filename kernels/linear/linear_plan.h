#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/linear/packed_layout.h"

namespace weft {

/// How the linear op cuts its work, the same for every target. Rows of `in` are packed in blocks
/// that stay in the second-level cache. The weight is read in groups of two panels; a group's block
/// of inputs stays in the first-level cache while all rows of the block are multiplied by it.
struct LinearPlan {
  /// Two panels: a gate and its up, and as many accumulators as AVX-512 has registers for.
  static constexpr std::int64_t kGroupPanels = 2;
  static constexpr std::int64_t kGroupOutputs = kGroupPanels * PackedLayout::kPanelOutputs;

  /// The most rows that a micro-kernel takes at a time.
  static constexpr std::int64_t kMaxTileRows = 32;

  /// Inputs of a block when they are widened to f32 first: 32 outputs of them are 32 KiB.
  static constexpr std::int64_t kWideInputs = 256;
  /// 32-bit words of a block where the weight is used without widening: 32 KiB.
  static constexpr std::int64_t kBlockWords = 256;

  /// Rows of a block. Their sums for one group are 32 KiB.
  static constexpr std::int64_t kMaxBlockRows = 256;
  /// Bytes of packed rows: they leave room for weights in the second-level cache (1 or 2 MiB).
  static constexpr std::int64_t kBlockBytes = std::int64_t{768} << 10U;

  /// The rows of a block when a packed row has `words` words of 32 bits.
  [[nodiscard]] static constexpr std::int64_t block_rows(std::int64_t words) noexcept {
    const std::int64_t fit = kBlockBytes / (4 * words) / kMaxTileRows * kMaxTileRows;
    return std::clamp(fit, kMaxTileRows, kMaxBlockRows);
  }

  /// Into how many parts rows are cut when an op is cut into `pieces`: at most the number of blocks
  /// of `step` rows, and a divisor of `pieces`.
  [[nodiscard]] static constexpr int row_parts(std::int64_t rows, std::int64_t step,
                                               int pieces) noexcept {
    int parts = static_cast<int>(std::min<std::int64_t>((rows + step - 1) / step, pieces));
    while (parts > 1 && pieces % parts != 0) --parts;
    return std::max(parts, 1);
  }

  /// Bytes of `rows` packed rows, padded to whole tiles of `tile_rows`.
  [[nodiscard]] static constexpr std::int64_t rows_bytes(std::int64_t rows, std::int64_t words,
                                                         std::int64_t tile_rows = 1) noexcept {
    const std::int64_t filled = (rows + tile_rows - 1) / tile_rows * tile_rows;
    return line_up(std::min(filled, block_rows(words)) * words * 4);
  }
  [[nodiscard]] static constexpr std::int64_t sums_bytes(std::int64_t rows) noexcept {
    return line_up(std::min(rows, kMaxBlockRows) * kGroupOutputs * 4);
  }
  static constexpr std::int64_t kWideBytes = kWideInputs * kGroupOutputs * 4;

  [[nodiscard]] static constexpr std::int64_t line_up(std::int64_t bytes) noexcept {
    return (bytes + 63) / 64 * 64;
  }
};

/// One thread's workspace, cut up. All parts start at a cache line.
struct LinearWorkspace {
  std::uint32_t* rows;  ///< packed rows of `in`
  float* sums;          ///< [rows of a block, kGroupOutputs]
  float* wide;          ///< [kGroupPanels, kWideInputs, 16]
  float* ordered;       ///< a row of `in` in the order of the weight's columns

  LinearWorkspace(std::span<std::byte> memory, std::int64_t row_count, std::int64_t words,
                  std::int64_t tile_rows) noexcept
      : rows(reinterpret_cast<std::uint32_t*>(memory.data())),
        sums(reinterpret_cast<float*>(memory.data() +
                                      LinearPlan::rows_bytes(row_count, words, tile_rows))),
        wide(sums + LinearPlan::sums_bytes(row_count) / 4),
        ordered(wide + LinearPlan::kWideBytes / 4) {}
};

}  // namespace weft
