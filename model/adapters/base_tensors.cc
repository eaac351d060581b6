#include "weft/model/adapters/base_tensors.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "weft/model/spec/tensor_names.h"

namespace weft {
namespace {

/// Returns a name with an expert's number put in.
std::string with_expert_number(std::string name, std::int64_t expert) {
  constexpr std::string_view kMark = "{expert}";
  const std::size_t at = name.find(kMark);
  if (at != std::string::npos) name.replace(at, kMark.size(), std::to_string(expert));
  return name;
}

/// Returns the last number of a module's path: its layer.
std::optional<std::size_t> layer_in(std::string_view module) {
  std::optional<std::size_t> layer;
  std::size_t begin = 0;
  while (begin <= module.size()) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    const std::string_view part = module.substr(begin, end - begin);
    const bool digits = !part.empty() && part.size() < 7 &&
                        part.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits) layer = std::stoul(std::string(part));
    begin = end + 1;
  }
  return layer;
}

}  // namespace

BaseTensors::BaseTensors(const Checkpoint& base, const Program& program, const Architecture& model)
    : base_(base), model_(model) {
  for (const MatrixPlan& matrix : program.matrices) {
    for (const MatrixPart& part : matrix.parts) {
      Use& use = uses_[part.tensor];
      use.matrix = true;
      use.transposed = part.stride_input != 1;
    }
  }
  for (const VectorPlan& vector : program.vectors) {
    for (const VectorPart& part : vector.parts) uses_.try_emplace(part.tensor);
  }
  note_tables(program.encode);
  note_tables(program.decode);
}

void BaseTensors::note_tables(const OpList& list) {
  for (const Op& op : list.ops) {
    const auto* embed = std::get_if<EmbedOp>(&op);
    if (embed != nullptr && embed->table.tensor != nullptr) uses_[embed->table.tensor].table = true;
  }
}

BaseTensors::Use BaseTensors::use_of(const CheckpointTensor& tensor) const {
  const auto found = uses_.find(&tensor);
  return found == uses_.end() ? Use{} : found->second;
}

bool BaseTensors::is_read(const CheckpointTensor& tensor) const { return uses_.contains(&tensor); }

bool BaseTensors::is_transposed(const CheckpointTensor& tensor) const {
  return use_of(tensor).transposed;
}

bool BaseTensors::is_tied(const CheckpointTensor& tensor) const {
  const Use use = use_of(tensor);
  return use.table && use.matrix;
}

const CheckpointTensor* BaseTensors::find(const std::string& name) const {
  // transformers 5 calls a text model inside of another model "model.language_model"; files say
  // "language_model.model".
  constexpr std::string_view kInMemory = "model.language_model.";
  const auto* found = find_tensor(base_, name, model_.optional_prefixes);
  if (found != nullptr || !name.starts_with(kInMemory)) return found;
  return find_tensor(base_, "model." + name.substr(kInMemory.size()), model_.optional_prefixes);
}

std::optional<ExpertParameter> BaseTensors::find_parameter(const std::string& module,
                                                           std::string_view parameter) const {
  auto found = stack_of(module + "." + std::string(parameter));
  return found ? found : experts_of(module, parameter);
}

std::optional<ExpertParameter> BaseTensors::stack_of(const std::string& name) const {
  const CheckpointTensor* tensor = find(name);
  if (tensor == nullptr || tensor->shape.size() != 3) return std::nullopt;
  ExpertParameter parameter{name, tensor->shape[0], tensor->shape[1], tensor->shape[2], {}};
  if (is_transposed(*tensor)) std::swap(parameter.outputs, parameter.inputs);
  parameter.pieces.push_back({{tensor}, 0, parameter.outputs});
  return parameter;
}

/// Finds one tensor for each expert; in memory all of them are one parameter.
std::optional<ExpertParameter> BaseTensors::experts_of(const std::string& module,
                                                       std::string_view parameter_name) const {
  const auto layer = layer_in(module);
  if (!layer || *layer >= model_.decoder.layers.size()) return std::nullopt;
  const MlpBlock& mlp = model_.decoder.layers[*layer].mlp;
  if (mlp.experts.count == 0) return std::nullopt;
  std::vector<const LinearBlock*> blocks;
  if (parameter_name == "gate_up_proj") blocks = {&mlp.dense.gate, &mlp.dense.up};
  if (parameter_name == "down_proj") blocks = {&mlp.dense.down};
  ExpertParameter parameter{
      module + "." + std::string(parameter_name), mlp.experts.count, 0, 0, {}};
  for (const LinearBlock* block : blocks) {
    ExpertParameter::Piece piece;
    for (std::int64_t expert = 0; expert < parameter.experts; ++expert) {
      const CheckpointTensor* tensor = expert_tensor(block->tensor, expert);
      if (tensor == nullptr || tensor->shape.size() != 2) return std::nullopt;
      piece.tensors.push_back(tensor);
    }
    piece.first = parameter.outputs;
    piece.outputs = piece.tensors.front()->shape[0];
    parameter.outputs += piece.outputs;
    parameter.inputs = piece.tensors.front()->shape[1];
    parameter.pieces.push_back(std::move(piece));
  }
  if (blocks.empty()) return std::nullopt;
  return parameter;
}

const CheckpointTensor* BaseTensors::expert_tensor(const TensorNames& names,
                                                   std::int64_t expert) const {
  for (const std::string& name : names) {
    if (name.find("{expert}") == std::string::npos) continue;
    const auto* found = find(with_expert_number(name, expert) + ".weight");
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace weft
