#pragma once

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

/// Reads a file of Hugging Face's safetensors format: 8 bytes of header length, a JSON header that
/// maps names to {dtype, shape, data_offsets}, then the tensors' bytes without a gap. The rules are
/// those of the reference reader (huggingface/safetensors, safetensors/src/tensor.rs): a header of
/// at most 100,000,000 bytes, starting with '{'; names that differ; tensors that cover the rest of
/// the file exactly, without holes, overlaps or bytes left over; __metadata__, when there is one,
/// maps text to text.
///
/// Only the header is read. kBadCheckpoint when a rule is broken; kUnsupportedFormat for a dtype
/// that core/dtype.h does not have, naming the tensor: a model that holds one needs it. Errors of
/// reading. Thread-safe.
[[nodiscard]] Result<CheckpointFile> read_safetensors(const SharedSource& source);

}  // namespace weft
