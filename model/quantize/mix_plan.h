#pragma once

#include <map>
#include <string>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/quantize/mix_rules.h"
#include "weft/model/quantize/quantize_tensors.h"

namespace weft {

/// Types by the names that a checkpoint's tensors have.
using TensorTypes = std::map<std::string, DType, std::less<>>;

/// The mix of a file.
struct MixPlan {
  MixId mix = MixId::kQ4_K_M;
  bool pure = false;                          ///< all in the mix's own type
  const ImportanceMap* importance = nullptr;  ///< null: there is none
};

/// The types that llama-quantize would give the tensors of a GGUF file, or of a model in that form.
/// A tensor that it leaves as it is, is not among them. kCannotQuantize naming a tensor whose type
/// needs an importance matrix that has nothing of it.
[[nodiscard]] Result<TensorTypes> plan_mix(const MixPlan& plan, const Checkpoint& gguf);

/// The same of a model that is not in GGUF's form, for its own tensors: each gets the type of the
/// tensor that would have its numbers.
[[nodiscard]] Result<TensorTypes> plan_mix(const MixPlan& plan, const GgufNames& names);

/// An importance matrix by the names of a model that is not in GGUF's form, made of one by GGUF's
/// names. What it has by the model's own names stays.
[[nodiscard]] ImportanceMap renamed_importance(ImportanceMap importance, const GgufNames& names);

}  // namespace weft
