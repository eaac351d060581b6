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
  bool is_f32 = false;              ///< other programs that read such files need it in f32
  /// The model's tensors that have its numbers: several if GGUF stacks experts that are separate in
  /// the model.
  std::vector<std::string> sources = {};
};

/// Returns the tensors of `checkpoint` that `model` uses, under the names that `names` has for the
/// same blocks. kUnsupportedFormat for a block whose tensor has no name in GGUF.
[[nodiscard]] Result<std::vector<GgufTensor>> gguf_tensors(const Architecture& model,
                                                           const Architecture& names,
                                                           const Checkpoint& checkpoint);

}  // namespace weft
