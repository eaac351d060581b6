#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/tensor_layout.h"

namespace weft {

/// A key of GGUF's metadata with its type and value in the file.
struct GgufPair {
  std::string key;
  std::vector<std::byte> value;
};

/// Makes a pair from a boolean, a number, a text, or a list of one of these kinds. A whole number
/// is u32 if it fits, as other readers expect, else i32, u64 or i64. In lists it is i32 if all fit.
/// Other numbers are f32. Another value is a bug of the caller: internal_error.
[[nodiscard]] GgufPair gguf_pair(std::string_view key, const boost::json::value& value);

/// Makes pairs with lists of any length.
[[nodiscard]] GgufPair gguf_list(std::string_view key, std::span<const std::string> texts);
[[nodiscard]] GgufPair gguf_list(std::string_view key, std::span<const float> numbers);
[[nodiscard]] GgufPair gguf_list(std::string_view key, std::span<const std::int32_t> numbers);

/// Reads a file's metadata unchanged. Errors of read_gguf().
[[nodiscard]] Result<std::vector<GgufPair>> read_gguf_pairs(const SharedSource& source);

/// Returns the number of a type in GGUF files; nothing if the format lacks it.
[[nodiscard]] std::optional<std::uint32_t> gguf_type_of(DType dtype) noexcept;

/// Returns a file's metadata for tensors of other types. general.file_type gets the number of the
/// new mix (llama_ftype; it is left out if there is none), general.quantization_version the version
/// of the blocks' layout. Keys about shards and the alignment are left out.
[[nodiscard]] std::vector<GgufPair> metadata_after_quantizing(
    std::vector<GgufPair> pairs, std::optional<std::uint32_t> file_type);

/// Returns the layout of a GGUF file of version 3 that read_gguf() can read. A type that the format
/// lacks is a bug of the caller: internal_error.
[[nodiscard]] TensorLayout lay_out_gguf(std::span<const GgufPair> metadata,
                                        std::span<const TensorEntry> tensors);

}  // namespace weft
