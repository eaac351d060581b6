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

/// The contents of one file of a checkpoint. Tensors are in the file's order. Their source is the
/// one that the reader got, or memory if the reader had to rearrange bytes.
struct CheckpointFile {
  std::vector<CheckpointTensor> tensors;
  boost::json::object config;  ///< Empty if the format has none.
  std::shared_ptr<const Vocabulary> vocabulary;
};

/// Returns the bytes of a tensor of this type and shape. Nothing if a dimension is negative, the
/// product overflows, or rows are not whole blocks.
[[nodiscard]] std::optional<std::int64_t> tensor_bytes(
    DType dtype, std::span<const std::int64_t> shape) noexcept;

/// Returns `text` from a file in a form for messages: in quotes, cut at 96 bytes, with bytes
/// outside printable ASCII as \xNN.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Returns a shape as "[3, 4]".
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// Returns "FILE: WHAT" as kBadCheckpoint, or as kUnsupportedFormat.
[[nodiscard]] Error bad_checkpoint(std::string_view file, std::string_view what);
[[nodiscard]] Error unsupported_checkpoint(std::string_view file, std::string_view what);

/// Returns an error of ByteReader, which does not know its file, as kBadCheckpoint of `file`.
[[nodiscard]] Error bad_bytes(std::string_view file, const Error& error);

}  // namespace weft
