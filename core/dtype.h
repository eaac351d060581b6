#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// How the numbers of a tensor are stored. Little-endian.
enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  // NOLINTBEGIN(readability-identifier-naming): the types' own names
  kF8_E4M3,  // OCP's 8-bit floating point: up to 448, a NaN and no infinity. A byte is no number by
             // itself: files and KV caches store a scale beside it
  // GGUF's encodings of weights, in blocks of 32 or 256; kernels/encoding says what is in a block.
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ4_NL,
  kIQ4_XS,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  // Inferflow's encodings: a scale and a minimum for each block of 32 or 64; kQ3H has 3.5 bits.
  kQ2_B32,
  kQ3_B32,
  kQ3H_B64,
  kQ4_B32,
  kQ4_B64,
  kQ5_B64,
  kQ6_B64,
  kQ8_B32,
  // The encodings that Hugging Face's quantizers write, as blocks: integers of 2, 3, 4 and 8 bits
  // with a scale and a zero for each group, FP8 (E4M3), and bitsandbytes' tables of 16.
  kI2_32,
  kI2_64,
  kI2_128,
  kI2_256,
  kI3_32,
  kI3_64,
  kI3_128,
  kI3_256,
  kI4_32,
  kI4_64,
  kI4_128,
  kI4_256,
  kI8_32,
  kI8_64,
  kI8_128,
  kI8_256,
  kF8_32,
  kF8_64,
  kF8_128,
  kF8_256,
  kNF4_64,
  kFP4_64,
  // NOLINTEND(readability-identifier-naming)
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
};

/// Numbers that are stored together, and the bytes they take. A plain type has blocks of one.
struct DTypeBlock {
  std::int64_t elements = 1;
  std::int64_t bytes = 1;
};

/// The block of a type: 32 numbers in 34 bytes for kQ8_0 (an f16 and 32 int8), one for plain types.
[[nodiscard]] DTypeBlock block_of(DType dtype) noexcept;

/// Returns "f32", "bf16", "q8_0", ...
[[nodiscard]] std::string_view to_string(DType dtype) noexcept;

/// Returns the type with that name; nothing when there is none.
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name) noexcept;

/// Whether the type's numbers are codes in blocks, with their own scales.
[[nodiscard]] bool is_encoded(DType dtype) noexcept;

/// Whether the type's numbers are real numbers that a model computes with directly. f8_e4m3's are
/// not: they need a scale, which is stored elsewhere.
[[nodiscard]] bool is_float(DType dtype) noexcept;

/// Returns the bytes that `elements` numbers take; nothing when they are not whole blocks, are
/// negative, or the product overflows.
[[nodiscard]] std::optional<std::int64_t> bytes_of(DType dtype, std::int64_t elements) noexcept;

}  // namespace weft
