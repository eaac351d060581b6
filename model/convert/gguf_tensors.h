#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/spec/architecture.h"

namespace weft {

/// A tensor that a GGUF file of a model has.
struct GgufTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< outermost first
  bool is_f32 = false;              ///< others computing with such files want it in f32
  /// The model's tensors that hold its numbers: several where GGUF stacks experts that the
  /// model has one by one.
  std::vector<std::string> sources = {};
};

/// The tensors of `checkpoint`, as `model` uses it, under the names that `names` has for the same
/// blocks. kUnsupportedFormat for a block whose tensor GGUF has no name for.
[[nodiscard]] Result<std::vector<GgufTensor>> gguf_tensors(const Architecture& model,
                                                           const Architecture& names,
                                                           const Checkpoint& checkpoint);

}  // namespace weft
