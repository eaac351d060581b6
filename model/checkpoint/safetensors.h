#pragma once

#include <span>
#include <string_view>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

/// The header's key that is no tensor, and the beginning of its keys that name an encoding.
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";
inline constexpr std::string_view kSafetensorsEncoding = "weft.encoding.";

/// A type and its name in the header.
struct SafetensorsType {
  std::string_view name;
  DType dtype;
};

/// Returns the types that are read and written.
[[nodiscard]] std::span<const SafetensorsType> safetensors_types() noexcept;

/// Reads a file of Hugging Face's safetensors format: 8 bytes of header length, a JSON header that
/// maps names to {dtype, shape, data_offsets}, then the tensors' bytes without a gap. The rules are
/// those of the reference reader (huggingface/safetensors, safetensors/src/tensor.rs): a header of
/// at most 100,000,000 bytes, starting with '{'; distinct names; tensors that cover the rest of the
/// file exactly, without holes, overlaps or bytes left over; __metadata__, when there is one, maps
/// text to text.
///
/// Encoded weights are tensors of dtype U8 and shape [..., bytes of a row] with a key
/// "weft.encoding.TENSOR" in __metadata__, whose value is the name of core/dtype.h ("q4_b64"). The
/// tensor that is read has the shape [..., numbers of a row].
///
/// Only the header is read. kBadCheckpoint when a rule is broken; kUnsupportedFormat for a dtype or
/// an encoding that core/dtype.h does not have, naming the tensor: a model that holds one needs it.
/// Errors of reading. Thread-safe.
[[nodiscard]] Result<CheckpointFile> read_safetensors(const SharedSource& source);

}  // namespace weft
