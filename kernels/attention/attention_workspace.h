#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/attention/attention_plan.h"

namespace weft {

/// The alignment of every part of the workspace, and of the whole, in bytes: the widest vector.
inline constexpr std::size_t kAttentionAlignment = 64;

/// The memory of one thread while it works on an item, in float32. R is the item's queries (tokens
/// times the heads that share the KV head).
struct AttentionWorkspace {
  std::size_t padded_size;  ///< D rounded up to whole vectors
  float* zeros;             ///< [D padded]: the key of a position outside the context
  float* keys;              ///< [D, kKeyBlock]: a block's keys, transposed
  float* values;            ///< [kKeyBlock, D padded]
  float* scores;            ///< [R, kKeyBlock]
  float* sums;              ///< [R, D padded]: weighted sums of the values
  float* maximum;           ///< [R]: the greatest score so far
  float* total;             ///< [R]: sum of the weights so far

  [[nodiscard]] static std::size_t rows(std::int32_t heads) noexcept {
    return static_cast<std::size_t>(std::max(heads, kQueryBlock));
  }

  [[nodiscard]] static std::size_t padded(std::int32_t head_size) noexcept {
    constexpr std::size_t kLanes = kAttentionAlignment / sizeof(float);
    return (static_cast<std::size_t>(head_size) + kLanes - 1) / kLanes * kLanes;
  }

  [[nodiscard]] static std::size_t bytes(std::int32_t heads, std::int32_t head_size) noexcept {
    const std::size_t size = padded(head_size);
    const std::size_t numbers =
        size * (1 + 2 * kKeyBlock + rows(heads)) + rows_padded(heads) * (kKeyBlock + 2);
    return numbers * sizeof(float);
  }

  AttentionWorkspace(std::int32_t heads, std::int32_t head_size, std::span<std::byte> memory)
      : padded_size(padded(head_size)) {
    auto* next = reinterpret_cast<float*>(memory.data());
    const auto take = [&next](std::size_t numbers) {
      float* part = next;
      next += numbers;
      return part;
    };
    zeros = take(padded_size);
    keys = take(padded_size * kKeyBlock);
    values = take(padded_size * kKeyBlock);
    scores = take(rows_padded(heads) * kKeyBlock);
    sums = take(rows(heads) * padded_size);
    maximum = take(rows_padded(heads));
    total = take(rows_padded(heads));
  }

 private:
  [[nodiscard]] static std::size_t rows_padded(std::int32_t heads) noexcept {
    return padded(static_cast<std::int32_t>(rows(heads)));
  }
};

}  // namespace weft
