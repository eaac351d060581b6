#pragma once

#include <string>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/convert/gguf_tensors.h"
#include "weft/model/convert/weight_map.h"

namespace weft {

/// The tensor `made` with the numbers at the places of `map`, in the type that these have, or in
/// f32. Messages name `file`; the tensors of the map outlive it. kCannotQuantize where the numbers
/// are encoded and GGUF lacks the encoding, or blocks would have to be changed.
[[nodiscard]] Result<CheckpointTensor> mapped_tensor(const GgufTensor& made, UnitMap map,
                                                     const std::string& file);

}  // namespace weft
