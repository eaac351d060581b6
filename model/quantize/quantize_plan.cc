#include "weft/model/quantize/quantize_plan.h"

#include <fnmatch.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "weft/kernels/encoding/quantize/quantize.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/model_error.h"
#include "weft/model/program/operands.h"

namespace weft {
namespace {

using TensorSet = std::set<const CheckpointTensor*>;

Error refusal(const CheckpointTensor& tensor, const std::string& why) {
  return {ModelErrc::kCannotQuantize, "tensor " + in_quotes(tensor.name) + ": " + why};
}

/// A program's use of a checkpoint's matrices.
struct MatrixUse {
  TensorSet layers;      ///< matrices that the layers multiply by
  TensorSet ends;        ///< embedding and head
  TensorSet routers;     ///< routers of experts
  TensorSet transposed;  ///< matrices whose inputs are not contiguous

  void add(const MatrixPlan& matrix, TensorSet MatrixUse::* use) {
    for (const MatrixPart& part : matrix.parts) {
      (this->*use).insert(part.tensor);
      if (part.stride_input != 1) transposed.insert(part.tensor);
    }
  }
};

class UseFinder {
 public:
  explicit UseFinder(const Program& program) : program_(program) {}

  MatrixUse find() {
    for (const OpList* list : {&program_.encode, &program_.decode}) {
      for (const Op& op : list->ops) {
        if (const auto* route = std::get_if<RouteOp>(&op)) scores_.insert(route->scores);
      }
      for (const Op& op : list->ops) {
        std::visit([this](const auto& one) { look_at(one); }, op);
      }
    }
    return use_;
  }

 private:
  template <class AnyOp>
  void look_at(const AnyOp& op) {
    const BufferId out = row_buffer(op);
    const bool head = program_.buffers[static_cast<std::size_t>(out)].rows == RowKind::kOutputs;
    TensorSet MatrixUse::* const use = head                    ? &MatrixUse::ends
                                       : scores_.contains(out) ? &MatrixUse::routers
                                                               : &MatrixUse::layers;
    for_each_table(op, [&](const TableRows& table) { use_.ends.insert(table.tensor); });
    for_each_matrix(op, [&](const MatrixId& matrix) {
      use_.add(program_.matrices[static_cast<std::size_t>(matrix)], use);
    });
  }

  const Program& program_;
  std::set<BufferId> scores_;
  MatrixUse use_;
};

bool fits(const CheckpointTensor& tensor, DType dtype) {
  return tensor.shape.back() % block_of(dtype).elements == 0;
}

class Planner {
 public:
  Planner(const MatrixUse& use, const QuantizeOptions& options) : use_(use), options_(options) {}

  Result<PlannedTensor> plan(const CheckpointTensor& tensor) const {
    const PlannedTensor same{&tensor, tensor.dtype};
    if (tensor.shape.size() < 2 || !is_float(tensor.dtype)) return same;
    if (const auto wanted = rule_for(tensor)) return by_rule(tensor, *wanted);
    if (options_.types) return by_mix(tensor, *options_.types);
    if (options_.dtype == tensor.dtype) return same;
    const bool chosen =
        is_encoded(options_.dtype) ? is_encoded_by_default(tensor) : is_matrix(tensor);
    if (!chosen) return same;
    if (is_encoded(tensor.dtype)) return encoded_already(tensor);
    return PlannedTensor{&tensor, options_.dtype};
  }

 private:
  [[nodiscard]] std::optional<DType> rule_for(const CheckpointTensor& tensor) const {
    for (const TypeRule& rule : options_.rules) {
      if (::fnmatch(rule.pattern.c_str(), tensor.name.c_str(), 0) == 0) return rule.dtype;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_matrix(const CheckpointTensor& tensor) const {
    return use_.layers.contains(&tensor) || use_.ends.contains(&tensor) ||
           use_.routers.contains(&tensor);
  }

  [[nodiscard]] bool is_encoded_by_default(const CheckpointTensor& tensor) const {
    const bool is_end = use_.ends.contains(&tensor);
    const bool is_chosen = is_end ? options_.with_ends : use_.layers.contains(&tensor);
    return is_chosen && !use_.routers.contains(&tensor) && !use_.transposed.contains(&tensor) &&
           fits(tensor, options_.dtype);
  }

  template <class Types>
  [[nodiscard]] Result<PlannedTensor> by_mix(const CheckpointTensor& tensor,
                                             const Types& types) const {
    const auto found = types.find(tensor.name);
    const bool changes = found != types.end() && found->second != tensor.dtype &&
                         !use_.transposed.contains(&tensor) && fits(tensor, found->second);
    if (!changes) return PlannedTensor{&tensor, tensor.dtype};
    if (is_encoded(tensor.dtype)) return encoded_already(tensor);
    if (is_encoded(found->second) && !can_quantize(found->second))
      return refusal(tensor, "there is no quantizer for " + std::string(to_string(found->second)));
    return PlannedTensor{&tensor, found->second};
  }

  [[nodiscard]] Result<PlannedTensor> by_rule(const CheckpointTensor& tensor, DType dtype) const {
    if (dtype == tensor.dtype) return PlannedTensor{&tensor, dtype};
    if (is_encoded(tensor.dtype)) return encoded_already(tensor);
    if (is_encoded(dtype)) {
      if (!is_matrix(tensor)) return refusal(tensor, "the model does not multiply by it");
      if (use_.transposed.contains(&tensor)) {
        return refusal(tensor,
                       "the file has it transposed, so its rows are no weights of an output");
      }
      if (!fits(tensor, dtype)) {
        return refusal(tensor, "its rows of " + std::to_string(tensor.shape.back()) +
                                   " are not whole blocks of " +
                                   std::to_string(block_of(dtype).elements) + " (" +
                                   std::string(to_string(dtype)) + ")");
      }
    }
    return PlannedTensor{&tensor, dtype};
  }

  [[nodiscard]] static Error encoded_already(const CheckpointTensor& tensor) {
    return refusal(tensor, "is " + std::string(to_string(tensor.dtype)) +
                               " already; begin with the model as it was before");
  }

  const MatrixUse& use_;
  const QuantizeOptions& options_;
};

}  // namespace

Result<std::vector<PlannedTensor>> plan_quantization(const Checkpoint& checkpoint,
                                                     const Program& program,
                                                     const QuantizeOptions& options) {
  const MatrixUse use = UseFinder(program).find();
  const Planner planner(use, options);
  std::vector<PlannedTensor> tensors;
  bool changes = false;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const auto planned = planner.plan(tensor);
    if (!planned) return planned.error();
    changes = changes || planned->dtype != tensor.dtype;
    tensors.push_back(*planned);
  }
  if (changes || options.may_stay) return tensors;
  return Error{ModelErrc::kCannotQuantize,
               std::string(to_string(options.dtype)) + ": no tensor can become this"};
}

}  // namespace weft
