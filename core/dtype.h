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
  /// Blocks of 32 numbers: a scale as f16, then 32 int8 (34 bytes). GGUF's Q8_0.
  kQ8_0,  // NOLINT(readability-identifier-naming): the type's own name
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

/// The block of a type: 32 numbers in 34 bytes for kQ8_0, one number for plain types.
[[nodiscard]] DTypeBlock block_of(DType dtype) noexcept;

/// Returns "f32", "bf16", "q8_0", ...
[[nodiscard]] std::string_view to_string(DType dtype) noexcept;

/// Whether it holds real numbers that a model can compute with.
[[nodiscard]] bool is_float(DType dtype) noexcept;

/// Returns the bytes that `elements` numbers take; nothing when they are not whole blocks, are
/// negative, or the product overflows.
[[nodiscard]] std::optional<std::int64_t> bytes_of(DType dtype, std::int64_t elements) noexcept;

}  // namespace weft
