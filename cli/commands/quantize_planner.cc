#include "weft/cli/commands/quantize_planner.h"

#include <algorithm>
#include <cstddef>
#include <iostream>

#include "weft/model/quantize/importance.h"

namespace weft::cli {
std::vector<TypeRule> type_rules(const QuantizeArguments& arguments) {
  std::vector<TypeRule> rules;
  for (const std::string& rule : arguments.tensors) {
    const std::size_t at = rule.rfind('=');
    if (at == std::string::npos || at == 0) {
      fail(kQuantizeVerb, "--tensor " + rule + ": must be PATTERN=TYPE");
    }
    rules.push_back(
        {rule.substr(0, at), of_flag("--tensor " + rule, tensor_type_named(rule.substr(at + 1)))});
  }
  return rules;
}

bool is_gguf_name(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

std::optional<std::uint32_t> file_type_of(const QuantizeType& type) {
  if (type.mix != nullptr) return type.mix->file_type;
  const auto found = std::ranges::find(mixes(), type.dtype, &Mix::dtype);
  return found == mixes().end() ? std::nullopt : std::optional(found->file_type);
}

TypePlanner::TypePlanner(const QuantizeArguments& arguments, const OpenedModel& opened,
                         const WrittenModel& model)
    : arguments_(arguments), opened_(opened), model_(model) {
  if (is_gguf_name(arguments.out)) return;
  auto names = gguf_names(*opened.family, *opened.checkpoint, *opened.program);
  if (names) names_ = *std::move(names);
}

std::optional<ImportanceMap> TypePlanner::importance() const {
  if (arguments_.importance.empty()) return std::nullopt;
  auto importance = value_or_fail(kQuantizeVerb, read_importance(arguments_.importance));
  if (names_) importance = renamed_importance(std::move(importance), *names_);
  const bool any = std::ranges::any_of(
      model_.checkpoint->tensors(),
      [&](const CheckpointTensor& tensor) { return importance.contains(tensor.name); });
  if (any) return importance;
  fail(kQuantizeVerb,
       "--importance " + arguments_.importance + ": has none of the model's tensors");
}

std::vector<PlannedTensor> TypePlanner::plan(const QuantizeType& type, std::vector<TypeRule> rules,
                                             const ImportanceMap* importance) const {
  QuantizeOptions options;
  options.dtype = type.dtype;
  options.rules = std::move(rules);
  options.may_stay = model_.checkpoint != opened_.checkpoint;
  options.with_ends = arguments_.pure;
  if (type.mix != nullptr) options.types = types_of(*type.mix, importance);
  return value_or_fail(kQuantizeVerb,
                       plan_quantization(*model_.checkpoint, *model_.program, options));
}

std::optional<TensorTypes> TypePlanner::types_of(const Mix& mix,
                                                 const ImportanceMap* importance) const {
  const MixPlan plan{mix.id, arguments_.pure, importance};
  const std::string flag = "--type " + std::string(mix.name);
  if (is_gguf_name(arguments_.out)) return of_flag(flag, plan_mix(plan, *model_.checkpoint));
  auto types = of_flag(flag, plan_mix_or_type(plan, names_ ? &*names_ : nullptr));
  if (types || !is_encoded(mix.dtype)) return types;
  std::cerr << "weft quantize: GGUF has no names for this model, and llama.cpp no " << mix.name
            << "; its layers' matrices become " << to_string(mix.dtype) << "\n";
  return std::nullopt;
}

}  // namespace weft::cli
