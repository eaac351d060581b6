#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft {

/// Consecutive outputs of a weight that are held in one type. A gated weight's outputs are
/// 0 .. 2N-1.
struct WeightRun {
  DType dtype = DType::kF32;
  std::int64_t first_output = 0;
  std::int64_t outputs = 0;

  friend bool operator==(const WeightRun&, const WeightRun&) = default;
};

/// The memory layout of a PackedWeight of one type. A panel holds 16 outputs, the float32 lanes of
/// the widest vector. A panel is contiguous, and panels follow each other, so that a thread's
/// panels are one stream:
///
///   f32   [K][16]
///   f16   [K][16]
///   bf16  [K/2][16][2]  pairs of inputs, for VDPBF16PS
///   q8_0  [K/4][16][4]  int8 in fours, for VPDPBUSD; then the scales, f16 [K/32][16]
///   other encodings  [K/B][16]  blocks of B inputs, as in the file; 16 blocks are interleaved
///                    where codes are multiplied (TurnedBlocks)
///
/// The padding of the last panel, and of an odd K, is zero. A panel starts at a cache line. In a
/// gated weight, panel 2p holds outputs 16p .. 16p+15 of the gate, and panel 2p+1 holds the same
/// outputs of up.
struct PackedLayout {
  static constexpr std::int64_t kPanelOutputs = 16;
  static constexpr std::int64_t kBlock = 32;  ///< inputs under one scale of q8_0

  DType dtype = DType::kF32;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool gated = false;

  /// Whether a panel holds the file's blocks.
  [[nodiscard]] bool keeps_blocks() const noexcept {
    return is_encoded(dtype) && dtype != DType::kQ8_0;
  }

  [[nodiscard]] constexpr std::int64_t panels() const noexcept {
    return (outputs + kPanelOutputs - 1) / kPanelOutputs * (gated ? 2 : 1);
  }

  /// Inputs whose numbers share one 32-bit word of a panel, or one row of it.
  [[nodiscard]] constexpr std::int64_t interleave() const noexcept {
    return dtype == DType::kBF16 ? 2 : dtype == DType::kQ8_0 ? 4 : 1;
  }

  [[nodiscard]] constexpr std::int64_t element_bytes() const noexcept {
    return dtype == DType::kF32 ? 4 : dtype == DType::kQ8_0 ? 1 : 2;
  }

  /// Bytes of a panel before the scales.
  [[nodiscard]] constexpr std::int64_t numbers_bytes() const noexcept {
    const std::int64_t words = (inputs + interleave() - 1) / interleave();
    return line_up(words * interleave() * kPanelOutputs * element_bytes());
  }

  [[nodiscard]] std::int64_t panel_bytes() const noexcept {
    if (keeps_blocks()) return line_up(block_row_offset(inputs));
    const std::int64_t scales = dtype == DType::kQ8_0 ? inputs / kBlock * kPanelOutputs * 2 : 0;
    return numbers_bytes() + line_up(scales);
  }

  /// The place of number (lane, input) of a panel, in bytes from the panel's start.
  [[nodiscard]] constexpr std::int64_t offset(std::int64_t lane,
                                              std::int64_t input) const noexcept {
    const std::int64_t group = input / interleave();
    return ((group * kPanelOutputs + lane) * interleave() + input % interleave()) * element_bytes();
  }

  /// The place of the scale of (lane, input's block) of a q8_0 panel.
  [[nodiscard]] constexpr std::int64_t scale_offset(std::int64_t lane,
                                                    std::int64_t input) const noexcept {
    return numbers_bytes() + (input / kBlock * kPanelOutputs + lane) * 2;
  }

  /// The place of the row of 16 blocks with the input, in a panel that keeps blocks.
  [[nodiscard]] std::int64_t block_row_offset(std::int64_t input) const noexcept {
    const DTypeBlock block = block_of(dtype);
    return input / block.elements * kPanelOutputs * block.bytes;
  }

  /// The panel that holds output `output`; in a gated weight outputs N .. 2N-1 belong to up.
  [[nodiscard]] constexpr std::int64_t panel_of(std::int64_t output) const noexcept {
    if (!gated) return output / kPanelOutputs;
    return output < outputs ? output / kPanelOutputs * 2
                            : (output - outputs) / kPanelOutputs * 2 + 1;
  }

  [[nodiscard]] constexpr std::int64_t lane_of(std::int64_t output) const noexcept {
    return (gated && output >= outputs ? output - outputs : output) % kPanelOutputs;
  }

 private:
  [[nodiscard]] static constexpr std::int64_t line_up(std::int64_t bytes) noexcept {
    return (bytes + 63) / 64 * 64;
  }
};

}  // namespace weft
