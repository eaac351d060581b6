#pragma once

#include <map>
#include <optional>
#include <string>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/quantize/mix_rules.h"
#include "weft/model/quantize/quantize_tensors.h"

namespace weft {

/// Types by a checkpoint's tensor names.
using TensorTypes = std::map<std::string, DType, std::less<>>;

/// The mix of a file.
struct MixPlan {
  MixId mix = MixId::kQ4_K_M;
  bool pure = false;                          ///< every tensor gets the mix's own type
  const ImportanceMap* importance = nullptr;  ///< null: no importance matrix
};

/// Returns the types that llama-quantize would choose for the tensors of a GGUF file, or of a model
/// in that form. Tensors that keep their type are not in the map. kCannotQuantize names a tensor
/// whose type needs an importance matrix that lacks the tensor.
[[nodiscard]] Result<TensorTypes> plan_mix(const MixPlan& plan, const Checkpoint& gguf);

/// Plans a model that is not in GGUF's form, by its own names: each tensor gets the type of the
/// GGUF tensor that would have its numbers.
[[nodiscard]] Result<TensorTypes> plan_mix(const MixPlan& plan, const GgufNames& names);

/// Plans a model for which GGUF has `names`; null: it has none. Returns no types if all matrices
/// get the mix's own type: with a mix of floats, and with any mix without names. kCannotQuantize if
/// that type needs an importance matrix and there is none.
[[nodiscard]] Result<std::optional<TensorTypes>> plan_mix_or_type(const MixPlan& plan,
                                                                  const GgufNames* names);

/// Returns an importance matrix by the names of a model that is not in GGUF's form, from a matrix
/// by GGUF's names. Entries with the model's own names stay.
[[nodiscard]] ImportanceMap renamed_importance(ImportanceMap importance, const GgufNames& names);

}  // namespace weft
