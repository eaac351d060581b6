#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft {

/// Outputs of a weight, side by side, that are held in one type. Those of a gated weight count from
/// 0 to 2N.
struct WeightRun {
  DType dtype = DType::kF32;
  std::int64_t first_output = 0;
  std::int64_t outputs = 0;

  friend bool operator==(const WeightRun&, const WeightRun&) = default;
};

/// How a PackedWeight of one type lies in memory. Outputs stand in panels of 16, the float32 lanes
/// of the widest vector; a panel is one piece of memory, so that one thread's panels are one
/// stream:
///
///   f32   [K][16]
///   f16   [K][16]
///   bf16  [K/2][16][2]  pairs of inputs, as VDPBF16PS takes them
///   q8_0  [K/4][16][4]  int8 in fours, as VPDPBUSD takes them; then the scales, f16 [K/32][16]
///   other encodings  [K/B][16]  blocks of B inputs as they stand in the file, each 16 of them
///                    turned where they are multiplied by their codes (TurnedBlocks)
///
/// What fills up the last panel, or an odd K, is zero. A panel starts at a cache line. Of a gated
/// weight, panel 2p holds the gate's outputs 16p .. 16p+15 and panel 2p+1 those of up.
struct PackedLayout {
  static constexpr std::int64_t kPanelOutputs = 16;
  static constexpr std::int64_t kBlock = 32;  ///< inputs under one scale of q8_0

  DType dtype = DType::kF32;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool gated = false;

  /// Whether a panel is made of the file's own blocks.
  [[nodiscard]] bool keeps_blocks() const noexcept {
    return is_encoded(dtype) && dtype != DType::kQ8_0;
  }

  [[nodiscard]] constexpr std::int64_t panels() const noexcept {
    return (outputs + kPanelOutputs - 1) / kPanelOutputs * (gated ? 2 : 1);
  }

  /// Inputs whose numbers stand together in one 32-bit word of a panel, or in one row of it.
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

  /// Where number (output, input) of a panel stands, in bytes from the panel's start.
  [[nodiscard]] constexpr std::int64_t offset(std::int64_t lane,
                                              std::int64_t input) const noexcept {
    const std::int64_t group = input / interleave();
    return ((group * kPanelOutputs + lane) * interleave() + input % interleave()) * element_bytes();
  }

  /// Where the scale of (output, input's block) of a q8_0 panel stands.
  [[nodiscard]] constexpr std::int64_t scale_offset(std::int64_t lane,
                                                    std::int64_t input) const noexcept {
    return numbers_bytes() + (input / kBlock * kPanelOutputs + lane) * 2;
  }

  /// Where the row of 16 blocks with the input stands in a panel that keeps blocks.
  [[nodiscard]] std::int64_t block_row_offset(std::int64_t input) const noexcept {
    const DTypeBlock block = block_of(dtype);
    return input / block.elements * kPanelOutputs * block.bytes;
  }

  /// The panel that holds output `output`; outputs N .. 2N-1 of a gated weight are those of up.
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
