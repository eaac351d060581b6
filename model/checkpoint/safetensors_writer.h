#pragma once

#include <span>

#include "weft/model/checkpoint/tensor_layout.h"

namespace weft {

/// Lays out a safetensors file that read_safetensors() reads: plain tensors as they are, encoded
/// ones as bytes with a key in __metadata__. Types that the format does not have are a bug of the
/// caller: internal_error.
[[nodiscard]] TensorLayout lay_out_safetensors(std::span<const TensorEntry> tensors);

}  // namespace weft
