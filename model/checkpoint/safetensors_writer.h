#pragma once

#include <span>

#include "weft/model/checkpoint/tensor_layout.h"

namespace weft {

/// Returns the layout of a safetensors file that read_safetensors() can read: plain tensors as they
/// are, encoded ones as bytes with a key in __metadata__. Types that the format lacks are a bug of
/// the caller: internal_error.
[[nodiscard]] TensorLayout lay_out_safetensors(std::span<const TensorEntry> tensors);

}  // namespace weft
