#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/quantize/quantize_tensors.h"

namespace weft {

/// Reads an importance matrix as llama.cpp's llama-imatrix writes it. In GGUF: for a tensor NAME
/// "NAME.in_sum2", the sums of the squares of its inputs, and "NAME.counts", of how many tokens; of
/// stacked experts a row and a count each. In its older files: the number of entries, and for each
/// its name, how many chunks were read and the mean squares times that. A weight's importance is
/// the mean square of its input. kBadCheckpoint naming the tensor where the two do not fit together
/// or hold what is no sum; kUnsupportedFormat for other files.
[[nodiscard]] Result<ImportanceMap> read_importance(const SharedSource& source);

/// Reads a file likewise. Errors of core/io/file.h.
[[nodiscard]] Result<ImportanceMap> read_importance(const std::filesystem::path& path);

}  // namespace weft
