#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

/// A plain type of tensors and its number in files. The numbers of encodings are
/// Encoding::gguf_type.
struct GgufPlainType {
  std::uint32_t number = 0;
  DType dtype = DType::kF32;
};
inline constexpr std::array kGgufPlainTypes = {
    GgufPlainType{0, DType::kF32},  GgufPlainType{1, DType::kF16},  GgufPlainType{24, DType::kI8},
    GgufPlainType{25, DType::kI16}, GgufPlainType{26, DType::kI32}, GgufPlainType{27, DType::kI64},
    GgufPlainType{28, DType::kF64}, GgufPlainType{30, DType::kBF16}};

/// Reads a GGUF file of version 2 or 3 (ggml, docs/gguf.md): metadata, tensors of plain types and
/// of all encodings(), in any mixture, and a vocabulary if there is one. A file may have metadata
/// alone. Dimensions are reversed to outermost first; names stay as they are. It reads the part
/// before the tensors' bytes.
///
/// kUnsupportedFormat for other versions, big-endian files and other types, naming the tensor.
/// kBadCheckpoint for a count, length, dimension or offset that exceeds the file, for more than 4
/// dimensions, a dimension of 0, tensors that overlap or are not aligned, and a header of more than
/// kMaxHeldBytes. Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFile> read_gguf(const SharedSource& source);

/// Returns the files of a model that was split into several (NAME-00001-of-00003.gguf), in order;
/// only `path` if it is not split. `config` is the metadata of the file at `path`. kBadCheckpoint
/// if name and metadata disagree.
[[nodiscard]] Result<std::vector<std::filesystem::path>> gguf_shards(
    const std::filesystem::path& path, const boost::json::object& config);

/// Whether a file of this name is a shard, but not the first.
[[nodiscard]] bool is_later_gguf_shard(const std::filesystem::path& path);

}  // namespace weft
