#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// The contents of one file of a checkpoint. Tensors are in the file's order and lie in the source
/// that the reader was given, or in memory where the reader had to rearrange bytes.
struct CheckpointFile {
  std::vector<CheckpointTensor> tensors;
  boost::json::object config;  ///< Empty where the format has none.
  std::shared_ptr<const Vocabulary> vocabulary;
};

/// Bytes of a tensor of this type and shape. Nothing when a dimension is negative, the product
/// overflows, or rows are not whole blocks.
[[nodiscard]] std::optional<std::int64_t> tensor_bytes(
    DType dtype, std::span<const std::int64_t> shape) noexcept;

/// `text` from a file as a message may hold it: in quotes, cut at 96 bytes, bytes outside printable
/// ASCII as \xNN.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// "[3, 4]"
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// "FILE: WHAT" as kBadCheckpoint, or as kUnsupportedFormat.
[[nodiscard]] Error bad_checkpoint(std::string_view file, std::string_view what);
[[nodiscard]] Error unsupported_checkpoint(std::string_view file, std::string_view what);

/// An error of ByteReader, which does not know what it reads, as kBadCheckpoint of `file`.
[[nodiscard]] Error bad_bytes(std::string_view file, const Error& error);

}  // namespace weft
