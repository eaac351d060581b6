#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weft/core/dtype.h"

namespace weft {

/// A type that a KV cache may have, and its name in settings.
struct KvDType {
  DType dtype;
  std::string_view name;
};

/// All types that a KV cache may have. The last two store a byte for each number. They also store
/// two scales for each token and KV head: one for its key and one for its value.
inline constexpr std::array kKvDTypes = {
    KvDType{DType::kF32, "f32"}, KvDType{DType::kF16, "f16"},     KvDType{DType::kBF16, "bf16"},
    KvDType{DType::kI8, "int8"}, KvDType{DType::kF8_E4M3, "fp8"},
};

/// Whether a cache may have this type.
[[nodiscard]] bool is_kv_dtype(DType dtype) noexcept;

/// Whether a cache of this type holds codes with scales.
[[nodiscard]] bool is_coded_kv(DType dtype) noexcept;

/// Returns "f32", "int8", "fp8", ...; for a type that no cache has, to_string() of the type.
[[nodiscard]] std::string_view kv_dtype_name(DType dtype) noexcept;

/// Bytes that a cache takes for the key, or the value, of one token and KV head: head_size numbers,
/// and 4 bytes of scale where the type has one. 0 for a type that no cache has or a size below 1.
[[nodiscard]] std::int64_t kv_row_bytes(DType dtype, std::int64_t head_size) noexcept;

}  // namespace weft
