#pragma once

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// The format of a file, told from its first bytes (and, for llama2.c's old files, which have no
/// magic number, from a header that fits the file's size). kUnsupportedFormat for anything else,
/// naming known formats. kBadCheckpoint for a git-lfs pointer, which stands in place of a file that
/// was never downloaded. Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFormat> format_of(const ByteSource& file);

}  // namespace weft
