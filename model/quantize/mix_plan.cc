#include "weft/model/quantize/mix_plan.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

MixChoice choice_of(const MixPlan& plan) {
  return {plan.mix, plan.pure, plan.importance != nullptr};
}

Error lacks_importance(std::string_view tensor, DType dtype) {
  return {
      ModelErrc::kCannotQuantize,
      "tensor " + in_quotes(tensor) + ": " + std::string(to_string(dtype)) +
          " needs the tensor's importance, without which it is noise (weft quantize --importance)"};
}

/// Whether the tensor stacks experts whose matrices are separate in the model.
bool is_matrix_stack(const GgufTensor& tensor) {
  return tensor.shape.size() >= 3 && std::cmp_equal(tensor.shape.front(), tensor.sources.size());
}

/// Returns whether the importance matrix has the values that `name` needs to become `dtype`.
bool is_provided(const MixPlan& plan, std::string_view gguf_name, std::string_view name,
                 DType dtype) {
  if (!needs_importance(plan.mix, gguf_name, dtype)) return true;
  return plan.importance != nullptr && plan.importance->contains(name);
}

}  // namespace

Result<TensorTypes> plan_mix(const MixPlan& plan, const Checkpoint& gguf) {
  std::vector<MixTensor> tensors;
  for (const CheckpointTensor& tensor : gguf.tensors()) {
    if (!tensor.shape.empty()) tensors.push_back({tensor.name, tensor.shape});
  }
  TensorTypes types = mix_types(choice_of(plan), mix_model(gguf.config()), tensors);
  for (const auto& [name, dtype] : types) {
    if (!is_provided(plan, name, name, dtype)) return lacks_importance(name, dtype);
  }
  return types;
}

Result<TensorTypes> plan_mix(const MixPlan& plan, const GgufNames& names) {
  std::vector<MixTensor> tensors;
  for (const GgufTensor& tensor : names.tensors) tensors.push_back({tensor.name, tensor.shape});
  const TensorTypes types = mix_types(choice_of(plan), mix_model(names.config), tensors);
  TensorTypes own;
  for (const GgufTensor& tensor : names.tensors) {
    const auto found = types.find(tensor.name);
    if (found == types.end()) continue;
    for (const std::string& source : tensor.sources) {
      if (!is_provided(plan, tensor.name, source, found->second))
        return lacks_importance(source, found->second);
      own.emplace(source, found->second);
    }
  }
  return own;
}

Result<std::optional<TensorTypes>> plan_mix_or_type(const MixPlan& plan, const GgufNames* names) {
  const Mix& mix = mix_of(plan.mix);
  if (!is_encoded(mix.dtype)) return std::optional<TensorTypes>();
  if (names != nullptr) {
    auto types = plan_mix(plan, *names);
    if (!types) return types.error();
    return std::optional(*std::move(types));
  }
  if (plan.importance == nullptr && needs_importance(mix.id, {}, mix.dtype)) {
    return Error{ModelErrc::kCannotQuantize,
                 std::string(mix.name) +
                     " is noise without an importance matrix (weft quantize --importance)"};
  }
  return std::optional<TensorTypes>();
}

ImportanceMap renamed_importance(ImportanceMap importance, const GgufNames& names) {
  for (const GgufTensor& tensor : names.tensors) {
    const auto found = importance.find(tensor.name);
    if (found == importance.end() || tensor.sources.empty()) continue;
    const std::vector<float> values = found->second;
    // The importances of a stack are one list for each expert, or one list for all.
    const std::size_t parts = is_matrix_stack(tensor) ? tensor.sources.size() : 1;
    if (values.size() % parts != 0) continue;
    const auto length = static_cast<std::ptrdiff_t>(values.size() / parts);
    for (std::size_t i = 0; i < tensor.sources.size(); ++i) {
      const auto first =
          values.begin() + (parts == 1 ? 0 : static_cast<std::ptrdiff_t>(i) * length);
      importance.try_emplace(tensor.sources[i], first, first + length);
    }
  }
  return importance;
}

}  // namespace weft
