#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/core/dtype.h"
#include "weft/core/encodings.h"

namespace weft {

/// kEncodings.
[[nodiscard]] std::span<const Encoding> encodings() noexcept;

/// A plain type is a bug of the caller: internal_error.
[[nodiscard]] const Encoding& encoding_of(DType dtype);

/// The first of the blocks at `bytes` whose scale, or that of its minimums, is infinite or not a
/// number. `bytes` are whole blocks.
[[nodiscard]] std::optional<std::int64_t> first_bad_scale(const Encoding& encoding,
                                                          std::span<const std::byte> bytes);

/// Blocks of one encoding, at any address.
struct EncodedBlocks {
  DType dtype = DType::kQ8_0;
  const std::byte* data = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0;  ///< bytes from one block to the next; 0: they stand side by side
};

/// Writes the weights of all blocks side by side to `to`, the same bits on every processor. There
/// is one rounding for each product and sum; of GGUF's encodings that is the arithmetic of PyPI's
/// `gguf` 0.19 (gguf/quants.py), of the others the format's formula in f32.
void decode_blocks(const EncodedBlocks& blocks, float* to);

}  // namespace weft
