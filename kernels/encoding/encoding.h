#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/core/dtype.h"

namespace weft {

/// How the scale of a block is stored. It multiplies all of its weights, and the scales of groups
/// where a block has several.
enum class ScaleType : std::uint8_t {
  kF16,
  kF32,
  kF16InNibbles,  ///< an f16 in the highest four bits of four 16-bit words
  kE8M0,  ///< a power of two as its exponent, 255 is NaN (OCP Microscaling 1.0, section 5.4)
};

/// What a weight's code stands for, before it is multiplied by its group's scale.
enum class CodeType : std::uint8_t {
  kLinear,  ///< an integer
  kFloat,   ///< a floating-point number of 8 bits
  kTable,   ///< a number of a table of 16
  kGrid,    ///< 4 or 8 weights together are one of a grid's points
};

/// One encoding of weights: what is in a block. block_of() says how long it is. This is what
/// readers, decoders and kernels know of an encoding; a new one is a row of the table and a
/// decoder.
struct Encoding {
  static constexpr std::uint32_t kNotInGguf = 0xffffffff;

  DType dtype = DType::kQ8_0;
  std::uint32_t gguf_type = 0;  ///< its number in GGUF files, or kNotInGguf
  CodeType codes = CodeType::kLinear;
  std::int64_t group = 0;    ///< weights under one scale and minimum, side by side
  std::int64_t levels = 0;   ///< different values that the weights of one group can have
  bool has_minimum = false;  ///< every group has a number that is added to its weights
  ScaleType scale_type = ScaleType::kF16;
  std::int64_t scale_at = 0;    ///< where the block's scale stands, in bytes
  std::int64_t minimum_at = 0;  ///< where the f16 stands that scales the minimums
  std::int64_t scales = 1;      ///< scales side by side, of as many equal parts of the block
};

/// All of them, in the order of DType.
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
