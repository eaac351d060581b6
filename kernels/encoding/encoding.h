#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/core/dtype.h"
#include "weft/core/encodings.h"

namespace weft {

/// Returns kEncodings.
[[nodiscard]] std::span<const Encoding> encodings() noexcept;

/// Returns the encoding of a type. A plain type is a bug of the caller: internal_error.
[[nodiscard]] const Encoding& encoding_of(DType dtype);

/// Returns the index of the first block in which the scale, or the scale of the minimums, is
/// infinite or NaN. `bytes` are whole blocks.
[[nodiscard]] std::optional<std::int64_t> first_bad_scale(const Encoding& encoding,
                                                          std::span<const std::byte> bytes);

/// Blocks of one encoding, at any address.
struct EncodedBlocks {
  DType dtype = DType::kQ8_0;
  const std::byte* data = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0;  ///< bytes from one block to the next; 0: blocks are contiguous
};

/// Writes the weights of all blocks one after the other to `to`, the same bits on every processor,
/// with one rounding for each product and sum. GGUF's encodings follow the arithmetic of PyPI's
/// `gguf` 0.19 (gguf/quants.py), the others their format's formula in f32.
void decode_blocks(const EncodedBlocks& blocks, float* to);

}  // namespace weft
