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

/// A key of GGUF's metadata with the type and the value that it has in the file.
struct GgufPair {
  std::string key;
  std::vector<std::byte> value;
};

/// A pair of a boolean, a number, a text or a list of one kind of these. Whole numbers are u32
/// where they fit, as other readers want it, else i32, u64 or i64; of lists i32 where they fit;
/// others f32. Another value is a bug of the caller: internal_error.
[[nodiscard]] GgufPair gguf_pair(std::string_view key, const boost::json::value& value);

/// Lists of any length.
[[nodiscard]] GgufPair gguf_list(std::string_view key, std::span<const std::string> texts);
[[nodiscard]] GgufPair gguf_list(std::string_view key, std::span<const float> numbers);
[[nodiscard]] GgufPair gguf_list(std::string_view key, std::span<const std::int32_t> numbers);

/// Reads a file's metadata as it stands there. Errors of read_gguf().
[[nodiscard]] Result<std::vector<GgufPair>> read_gguf_pairs(const SharedSource& source);

/// The number of a type in GGUF files; nothing where the format lacks it.
[[nodiscard]] std::optional<std::uint32_t> gguf_type_of(DType dtype) noexcept;

/// Returns a file's metadata for tensors of other types: general.file_type says
/// which (llama_ftype; left out where there is no number), general.quantization_version how
/// blocks are laid out, and the keys about shards and the alignment are left out.
[[nodiscard]] std::vector<GgufPair> metadata_after_quantizing(
    std::vector<GgufPair> pairs, std::optional<std::uint32_t> file_type);

/// Lays out a GGUF file of version 3 that read_gguf() reads. A type that the format lacks is a bug
/// of the caller: internal_error.
[[nodiscard]] TensorLayout lay_out_gguf(std::span<const GgufPair> metadata,
                                        std::span<const TensorEntry> tensors);

}  // namespace weft
