#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"

namespace weft {

/// A type for the tensors whose names match a shell pattern ("*.down_proj.weight").
struct TypeRule {
  std::string pattern;
  DType dtype = DType::kF16;
};

struct QuantizeOptions {
  DType dtype = DType::kQ8_0;
  std::vector<TypeRule> rules;  ///< the first match applies, before `types` and `dtype`
  bool may_stay = false;        ///< it is no error if all tensors keep their types
  bool with_ends = false;       ///< the embedding and the head are encoded too
  /// A mix: the type of each tensor that changes; replaces `dtype`.
  std::optional<std::map<std::string, DType, std::less<>>> types = {};
};

/// A tensor of a checkpoint and the type that it is written in.
struct PlannedTensor {
  const CheckpointTensor* source = nullptr;
  DType dtype = DType::kF32;
};

/// Decides the type in which each of a checkpoint's tensors is written, in their order.
///
/// With an encoding, matrices become `dtype` if the program multiplies by them in its layers,
/// untransposed and in rows of whole blocks. All other tensors keep their type: embedding and head,
/// unless `with_ends`; the routers of experts, whose errors reach every token; norms, biases and
/// other vectors; matrices that are transposed in the file. With f32, f16 or bf16 all the program's
/// matrices, and the embedding, get that type. With `types` a tensor gets its type in that map, if
/// its rows have whole blocks of it. A rule changes the type of any matrix.
///
/// kCannotQuantize names a tensor if a rule's matrix does not fit its type or is already encoded in
/// the file, and the type if there would be nothing to do.
[[nodiscard]] Result<std::vector<PlannedTensor>> plan_quantization(const Checkpoint& checkpoint,
                                                                   const Program& program,
                                                                   const QuantizeOptions& options);

}  // namespace weft
