#pragma once

#include <string>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/convert/gguf_tensors.h"
#include "weft/model/convert/weight_map.h"

namespace weft {

/// Returns the tensor `made` with the numbers at the places of `map`, in their type, or in f32.
/// Messages name `file`; the tensors of the map outlive it. kCannotQuantize if the numbers have an
/// encoding that GGUF lacks, or if blocks would have to be changed.
[[nodiscard]] Result<CheckpointTensor> mapped_tensor(const GgufTensor& made, UnitMap map,
                                                     const std::string& file);

}  // namespace weft
