#pragma once

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// What a file is, told from its first bytes (and, for llama2.c's old files, which have no magic
/// number, from a header that fits the file's size). kUnsupportedFormat for anything else; formats
/// that are known and not read are named. kBadCheckpoint for a git-lfs pointer, which stands where
/// a file should be that was never downloaded. Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFormat> format_of(const ByteSource& file);

}  // namespace weft
