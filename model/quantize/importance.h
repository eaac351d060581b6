#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/quantize/quantize_tensors.h"

namespace weft {

/// Reads an importance matrix of llama.cpp's llama-imatrix. A weight's importance is the mean
/// square of its input. In GGUF a tensor NAME has "NAME.in_sum2", the sums of the squares of its
/// inputs, and "NAME.counts", the number of tokens; stacked experts have a row and a count each.
/// Older files have the number of entries, and for each entry its name, the number of chunks and
/// the mean squares times that number. kBadCheckpoint names the tensor if the two do not fit
/// together or contain an invalid sum; kUnsupportedFormat for other files.
[[nodiscard]] Result<ImportanceMap> read_importance(const SharedSource& source);

/// Reads a file likewise. Errors of core/io/file.h.
[[nodiscard]] Result<ImportanceMap> read_importance(const std::filesystem::path& path);

}  // namespace weft
