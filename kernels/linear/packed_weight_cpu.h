#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/kernels/linear/packed_layout.h"

namespace weft {

/// A piece of a matrix to be packed into one panel: `lanes` outputs from `lane` on, `count` inputs
/// from `input` on. rows[i] are the numbers of output lane + i, contiguous in type `from`.
struct PackPiece {
  static constexpr std::int64_t kMaxInputs = 256;  ///< whole blocks; 16 rows of f32 take 16 KiB

  PackedLayout layout;
  std::byte* panel = nullptr;
  std::int64_t lane = 0;
  std::int64_t lanes = 0;
  std::int64_t input = 0;
  std::int64_t count = 0;
  DType from = DType::kF32;
  std::array<const std::byte*, PackedLayout::kPanelOutputs> rows{};
};

/// Converts and transposes a piece; writes the bytes of its numbers only.
void pack_piece(const PackPiece& piece);

}  // namespace weft
