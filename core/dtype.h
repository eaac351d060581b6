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

/// Whether its numbers are codes in blocks, with scales of their own.
[[nodiscard]] bool is_encoded(DType dtype) noexcept;

/// Whether it holds real numbers that a model can compute with.
[[nodiscard]] bool is_float(DType dtype) noexcept;

/// Returns the bytes that `elements` numbers take; nothing when they are not whole blocks, are
/// negative, or the product overflows.
[[nodiscard]] std::optional<std::int64_t> bytes_of(DType dtype, std::int64_t elements) noexcept;

}  // namespace weft
