#pragma once

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// Returns the format of a file from its first bytes. For llama2.c's old files, which have no magic
/// number, a header must fit the file's size. kUnsupportedFormat for other files, naming known
/// formats. kBadCheckpoint for a git-lfs pointer, which replaces a file that was never downloaded.
/// Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFormat> format_of(const ByteSource& file);

}  // namespace weft
