#include "weft/model/program/weight_planner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/kernels/linear/packed_weight.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/tensor_names.h"

namespace weft {
namespace {

constexpr const char* kOwnOrder = "columns in their own order";

// The most missing tensors that a message names; it counts the rest.
constexpr std::size_t kListed = 5;

std::string with_expert(std::string name, int expert) {
  constexpr std::string_view kMark = "{expert}";
  const std::size_t at = name.find(kMark);
  if (at != std::string::npos) name.replace(at, kMark.size(), std::to_string(expert));
  return name;
}

// Returns the names that a weight or a bias may have in a file, the usual one first. Parameters
// that belong to no module (stacked experts, sinks) have no ".weight". Files that are older than
// PyTorch call a norm's ".gamma" and ".beta".
std::vector<std::string> spellings(const std::string& name, std::string_view suffix) {
  std::vector<std::string> all = {name + std::string(suffix)};
  if (suffix == ".weight") {
    all.push_back(name);
    all.push_back(name + ".gamma");
  } else if (suffix == ".bias") {
    all.push_back(name + "_bias");
    all.push_back(name + ".beta");
    // If a spec states the weight's full name, its bias has the name beside it.
    for (const auto& [weight, bias] : {std::pair(".weight", ".bias"), {".gamma", ".beta"}}) {
      const std::string_view whole = weight;
      if (name.ends_with(whole)) all.push_back(name.substr(0, name.size() - whole.size()) + bias);
    }
  }
  return all;
}

// Whether a tensor has the matrices of all experts, including `expert`: as [experts, rows, columns]
// or [experts * rows, columns].
bool is_stack(const std::vector<std::int64_t>& shape, std::int64_t rows, std::int64_t expert) {
  if (shape.size() == 3) return expert < shape[0] && shape[1] == rows;
  return shape.size() == 2 && shape[0] > rows && shape[0] % rows == 0 && expert < shape[0] / rows;
}

// Returns the type in which a part can be held.
DType held_dtype(const MatrixPart& part) {
  const DType dtype = part.tensor->dtype;
  const bool whole_blocks = part.inputs % block_of(dtype).elements == 0;
  return dtype == DType::kF64 || !whole_blocks ? DType::kF32 : dtype;
}

// Returns the types in which outputs are held; neighbours of one type are one run.
std::vector<WeightRun> runs_of(const MatrixPlan& matrix) {
  std::vector<WeightRun> runs;
  for (const MatrixPart& part : matrix.parts) {
    runs.push_back({held_dtype(part), part.first_output, part.outputs});
  }
  std::ranges::sort(runs, {}, &WeightRun::first_output);
  std::vector<WeightRun> merged;
  for (const WeightRun& run : runs) {
    if (merged.empty() || merged.back().dtype != run.dtype) {
      merged.push_back(run);
    } else {
      merged.back().outputs += run.outputs;
    }
  }
  return merged;
}

// Whether the columns of all parts are in the same order.
bool is_one_order(const std::vector<MatrixPart>& parts) {
  const auto& first = parts.front().tensor->input_order;
  return std::ranges::all_of(parts, [&](const MatrixPart& part) {
    const auto& own = part.tensor->input_order;
    return own == first || (own != nullptr && first != nullptr && *own == *first);
  });
}

// Gives the matrix one type if the parts' types agree. Otherwise parts keep their types if
// possible. Parts with columns in different orders become plain numbers, in the inputs' order.
void plan_types(MatrixPlan& matrix) {
  if (!is_one_order(matrix.parts)) {
    matrix.dtype = DType::kF32;
    return;
  }
  matrix.input_order = matrix.parts.front().tensor->input_order;
  const std::vector<WeightRun> runs = runs_of(matrix);
  matrix.dtype = runs.size() == 1 ? runs.front().dtype : DType::kF32;
  if (runs.size() > 1 && PackedWeight::can_hold(runs, matrix.outputs, matrix.gated))
    matrix.runs = runs;
}

}  // namespace

MatrixPart WeightPlanner::View::part(std::int64_t first, std::int64_t count, std::int64_t to,
                                     std::int64_t step) const {
  return {tensor, offset + first * stride_output, count, inputs, stride_output * step, stride_input,
          to};
}

void WeightPlanner::missing(const TensorNames& names, std::string_view suffix, int expert) {
  std::string all;
  for (const std::string& name : names) {
    all.append(all.empty() ? "" : " or ").append(with_expert(name, expert)).append(suffix);
  }
  missing_.push_back(names.empty() ? "(the spec names no tensor)" : all);
}

void WeightPlanner::misfit(const CheckpointTensor& tensor, const std::string& wanted) {
  refuse({ModelErrc::kBadTensor, tensor.file() + ": " + tensor.name + " is " +
                                     std::string(to_string(tensor.dtype)) + " " +
                                     shape_text(tensor.shape) + ", the model needs " + wanted});
}

void WeightPlanner::refuse(Error error) {
  if (!error_) error_ = std::move(error);
}

const CheckpointTensor* WeightPlanner::find(const TensorNames& names, std::string_view suffix,
                                            int expert) {
  for (const std::string& raw : names) {
    const CheckpointTensor* found = nullptr;
    for (const std::string& name : spellings(with_expert(raw, expert), suffix)) {
      found = find_tensor(checkpoint_, name, model_.optional_prefixes);
      if (found != nullptr) break;
    }
    if (found == nullptr) continue;
    used_.insert(found);
    if (!is_float(found->dtype)) misfit(*found, "a floating-point tensor");
    return found;
  }
  return nullptr;
}

std::optional<WeightPlanner::View> WeightPlanner::view(const LinearBlock& block,
                                                       std::int64_t outputs, std::int64_t inputs,
                                                       int expert) {
  const CheckpointTensor* tensor = find(block.tensor, ".weight", expert);
  if (tensor == nullptr) {
    missing(block.tensor, ".weight", expert);
    return std::nullopt;
  }
  std::vector<std::int64_t> shape = tensor->shape;
  // GGUF leaves out a first dimension of 1.
  if (outputs == 1 && shape.size() == 1) shape.insert(shape.begin(), 1);
  View view{tensor, 0, outputs, inputs, inputs, 1};
  // Blocks run along the inputs, even in models that store plain matrices transposed.
  const bool transposed = block.transposed && !is_encoded(tensor->dtype);
  if (expert != kAbsent && is_stack(shape, transposed ? inputs : outputs, expert)) {
    view.offset = expert * outputs * inputs;
    shape = transposed ? std::vector{inputs, outputs} : std::vector{outputs, inputs};
  }
  if (transposed) {
    view.stride_output = 1;
    view.stride_input = outputs;
    if (shape.size() == 2) std::swap(shape[0], shape[1]);
  }
  if (shape != std::vector{outputs, inputs}) {
    misfit(*tensor, shape_text(std::array{outputs, inputs}) + (transposed ? " transposed" : ""));
    return std::nullopt;
  }
  return view;
}

void WeightPlanner::take_bias(Builder& builder, const LinearBlock& block, std::int64_t outputs,
                              int expert, std::int64_t first, std::int64_t count, std::int64_t to,
                              std::int64_t step) {
  const CheckpointTensor* tensor = find(block.tensor, ".bias", expert);
  if (tensor == nullptr) return;
  std::vector<std::int64_t> shape = tensor->shape;
  std::int64_t offset = 0;
  if (shape.size() == 2 && expert != kAbsent && expert < shape[0]) {
    offset = expert * outputs;
    shape.erase(shape.begin());
  }
  if (shape != std::vector{outputs}) {
    misfit(*tensor, shape_text(std::array{outputs}));
    return;
  }
  builder.has_bias = true;
  builder.bias.parts.push_back({tensor, offset + first, count, step, to});
}

WeightPlanner::Linear WeightPlanner::add(Builder builder, const KeptPart& kept) {
  Linear linear;
  if (builder.matrix.parts.empty()) return linear;
  builder.bias.name = builder.matrix.name + ".bias";
  builder.bias.size = builder.matrix.outputs * (builder.matrix.gated ? 2 : 1);
  if (!kept.outputs.empty()) {
    keep_numbers(builder.bias, builder.matrix.gated
                                   ? in_both_halves(kept.outputs, builder.matrix.outputs)
                                   : kept.outputs);
  }
  builder.has_bias = builder.has_bias && kept.bias;
  keep_part(builder.matrix, kept);
  plan_types(builder.matrix);
  // A head tied to the embedding, or layers that share weights, use one matrix.
  linear.weight = static_cast<MatrixId>(program_.matrices.size());
  program_.matrices.push_back(std::move(builder.matrix));
  if (builder.has_bias) {
    linear.bias = static_cast<VectorId>(program_.vectors.size());
    program_.vectors.push_back(std::move(builder.bias));
  }
  return linear;
}

void WeightPlanner::hold_alike(std::span<const MatrixId> matrices) {
  const auto plan_of = [this](MatrixId id) -> MatrixPlan& {
    return program_.matrices[static_cast<std::size_t>(id)];
  };
  // Another function reports the missing tensor.
  if (std::ranges::find(matrices, MatrixId()) != matrices.end()) return;
  const MatrixPlan& first = plan_of(matrices.front());
  const bool alike = std::ranges::all_of(matrices, [&](MatrixId id) {
    return plan_of(id).dtype == first.dtype && plan_of(id).runs == first.runs;
  });
  if (alike) return;
  for (const MatrixId id : matrices) {
    plan_of(id).dtype = DType::kF32;
    plan_of(id).runs.clear();
    plan_of(id).input_order = nullptr;
  }
}

WeightPlanner::Linear WeightPlanner::linear(const std::string& name, const LinearBlock& block,
                                            std::int64_t outputs, std::int64_t inputs, int expert,
                                            const KeptPart& kept) {
  const auto source = view(block, outputs, inputs, expert);
  if (!source) return {};
  Builder builder{{name, {}, outputs, inputs, false, {source->part(0, outputs, 0)}}, {}, false};
  take_bias(builder, block, outputs, expert, 0, outputs, 0);
  return add(std::move(builder), kept);
}

void WeightPlanner::fused_qkv(Builder& builder, const AttentionBlock& block, std::int64_t inputs) {
  const std::int64_t size = block.shape.head_size;
  const std::int64_t outputs = (block.shape.heads + 2 * std::int64_t{block.shape.kv_heads}) * size;
  const std::int64_t groups = block.qkv.groups;
  if (block.shape.heads % groups != 0 || block.shape.kv_heads % groups != 0) {
    refuse({ModelErrc::kBadConfig,
            "attention.qkv.groups: " + std::to_string(groups) + " does not divide the heads"});
    return;
  }
  const auto source = view(block.qkv.fused, outputs, inputs, kAbsent);
  if (!source) return;
  const std::int64_t query_rows = block.shape.heads / groups * size;
  const std::int64_t kv_rows = block.shape.kv_heads / groups * size;
  std::int64_t from = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    for (const char which : block.qkv.order) {
      const std::int64_t rows = which == 'q' ? query_rows : kv_rows;
      const std::int64_t base = which == 'q'   ? 0
                                : which == 'k' ? block.shape.heads * size
                                               : (block.shape.heads + block.shape.kv_heads) * size;
      const std::int64_t to = base + group * rows;
      builder.matrix.parts.push_back(source->part(from, rows, to));
      take_bias(builder, block.qkv.fused, outputs, kAbsent, from, rows, to);
      from += rows;
    }
  }
}

WeightPlanner::Linear WeightPlanner::qkv(const std::string& name, const AttentionBlock& block,
                                         std::int64_t inputs, bool queries, bool keys_and_values,
                                         const KeptPart& kept) {
  const std::int64_t query_rows = std::int64_t{block.shape.heads} * block.shape.head_size;
  const std::int64_t kv_rows = std::int64_t{block.shape.kv_heads} * block.shape.head_size;
  const std::int64_t outputs = (queries ? query_rows : 0) + (keys_and_values ? 2 * kv_rows : 0);
  Builder builder{{name, {}, outputs, inputs, false, {}}, {}, false};
  if (!block.qkv.fused.tensor.empty() && queries && keys_and_values) {
    fused_qkv(builder, block, inputs);
    return add(std::move(builder), kept);
  }
  std::int64_t to = 0;
  const auto take = [&](const LinearBlock& source_block, std::int64_t rows) {
    const auto source = view(source_block, rows, inputs, kAbsent);
    if (source) builder.matrix.parts.push_back(source->part(0, rows, to));
    take_bias(builder, source_block, rows, kAbsent, 0, rows, to);
    to += rows;
  };
  if (queries) take(block.qkv.query, query_rows);
  if (keys_and_values) {
    take(block.qkv.key, kv_rows);
    take(block.qkv.value, kv_rows);
  }
  return add(std::move(builder), kept);
}

WeightPlanner::Linear WeightPlanner::gated(const std::string& name, const GatedMlpBlock& block,
                                           std::int64_t inputs, int expert, const KeptPart& kept) {
  const std::int64_t size = block.size;
  Builder builder{{name, {}, size, inputs, true, {}}, {}, false};
  const bool apart =
      !block.gate.tensor.empty() && find(block.fused.tensor, ".weight", expert) == nullptr;
  if (block.fused.tensor.empty() || apart) {
    for (const auto& [part, to] : {std::pair(&block.gate, std::int64_t{0}), {&block.up, size}}) {
      const auto source = view(*part, size, inputs, expert);
      if (source) builder.matrix.parts.push_back(source->part(0, size, to));
      take_bias(builder, *part, size, expert, 0, size, to);
    }
    return add(std::move(builder), kept);
  }
  const auto source = view(block.fused, 2 * size, inputs, expert);
  if (!source) return {};
  const std::int64_t step = block.interleaved ? 2 : 1;
  const std::int64_t second = block.interleaved ? 1 : size;
  for (const std::int64_t half : {0, 1}) {
    const std::int64_t from = half * second;
    const std::int64_t to = (half == 0) == block.up_first ? size : 0;
    builder.matrix.parts.push_back(source->part(from, size, to, step));
    take_bias(builder, block.fused, 2 * size, expert, from, size, to, step);
  }
  return add(std::move(builder), kept);
}

std::int64_t WeightPlanner::input_grain(const LinearBlock& block, int expert) {
  const CheckpointTensor* tensor = find(block.tensor, ".weight", expert);
  if (tensor == nullptr) return 1;  // reported where the tensor is needed
  return tensor->input_order == nullptr ? block_of(tensor->dtype).elements : 0;
}

void WeightPlanner::keep(VectorId vector, const Extent& kept) {
  if (vector == kAbsent) return;
  keep_numbers(program_.vectors[static_cast<std::size_t>(vector)], std::span(&kept, 1));
}

VectorId WeightPlanner::vector(const std::string& name, const TensorNames& names,
                               std::string_view suffix, std::int64_t size, bool optional) {
  if (names.empty()) return kAbsent;
  const CheckpointTensor* tensor = find(names, suffix, kAbsent);
  if (tensor == nullptr) {
    if (!optional) missing(names, suffix, kAbsent);
    return kAbsent;
  }
  std::int64_t numbers = 1;
  for (const std::int64_t extent : tensor->shape) numbers *= extent;
  if (numbers != size) {
    misfit(*tensor, shape_text(std::array{size}));
    return kAbsent;
  }
  if (tensor->input_order) misfit(*tensor, kOwnOrder);
  program_.vectors.push_back({name, size, {{tensor, 0, size, 1, 0}}, {}});
  return static_cast<VectorId>(program_.vectors.size() - 1);
}

VectorId WeightPlanner::head_vectors(const std::string& name, const TensorNames& names,
                                     std::string_view suffix, std::int64_t heads,
                                     std::int64_t head_size, bool optional) {
  constexpr std::string_view kMark = "{head}";
  const bool one_each = std::ranges::any_of(
      names, [&](const std::string& each) { return each.find(kMark) != std::string::npos; });
  if (!one_each) return vector(name, names, suffix, heads * head_size, optional);
  VectorPlan plan{name, heads * head_size, {}, {}};
  for (std::int64_t head = 0; head < heads; ++head) {
    TensorNames own = names;
    for (std::string& each : own) {
      const std::size_t at = each.find(kMark);
      if (at != std::string::npos) each.replace(at, kMark.size(), std::to_string(head));
    }
    const VectorId part = vector(name, own, suffix, head_size, optional);
    if (part == kAbsent) return kAbsent;
    plan.parts.push_back(program_.vectors.back().parts.front());
    plan.parts.back().first = head * head_size;
    program_.vectors.pop_back();
  }
  program_.vectors.push_back(std::move(plan));
  return static_cast<VectorId>(program_.vectors.size() - 1);
}

VectorId WeightPlanner::table(const std::string& name, const TensorNames& names,
                              std::int64_t columns, bool transposed, std::int64_t* rows) {
  const CheckpointTensor* tensor = find(names, ".weight", kAbsent);
  if (tensor == nullptr) {
    missing(names, ".weight", kAbsent);
    return kAbsent;
  }
  if (tensor->shape.size() != 2 || tensor->shape[0] < 1 || tensor->shape[1] != columns) {
    misfit(*tensor, "[rows, " + std::to_string(columns) + "]");
    return kAbsent;
  }
  if (tensor->input_order) misfit(*tensor, kOwnOrder);
  *rows = tensor->shape[0];
  VectorPlan plan{name, *rows * columns, {}, {}};
  if (transposed) {
    for (std::int64_t column = 0; column < columns; ++column) {
      plan.parts.push_back({tensor, column, *rows, columns, column * *rows});
    }
  } else {
    plan.parts.push_back({tensor, 0, plan.size, 1, 0});
  }
  program_.vectors.push_back(std::move(plan));
  return static_cast<VectorId>(program_.vectors.size() - 1);
}

VectorId WeightPlanner::computed(const std::string& name, std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  program_.vectors.push_back({name, size, {}, std::move(values)});
  return static_cast<VectorId>(program_.vectors.size() - 1);
}

const CheckpointTensor* WeightPlanner::embedding(const TensorNames& names, std::int64_t rows,
                                                 std::int64_t columns) {
  const CheckpointTensor* tensor = find(names, ".weight", kAbsent);
  if (tensor == nullptr) {
    missing(names, ".weight", kAbsent);
    return nullptr;
  }
  if (tensor->shape != std::vector{rows, columns})
    misfit(*tensor, shape_text(std::array{rows, columns}));
  // Devices read its rows as they are in the file.
  if (tensor->dtype == DType::kF64) misfit(*tensor, "f32 or a shorter type");
  if (!bytes_of(tensor->dtype, columns)) misfit(*tensor, "rows of whole blocks");
  if (tensor->input_order) misfit(*tensor, kOwnOrder);
  return tensor;
}

void WeightPlanner::pass_over(const TensorNames& names) {
  for (const std::string& name : names) {
    for (const char* suffix : {".weight", ""}) {
      passed_over_.insert(find_tensor(checkpoint_, name + suffix, model_.optional_prefixes));
    }
  }
}

Result<void> WeightPlanner::result() const {
  if (error_) return *error_;
  if (missing_.empty()) return {};
  std::string detail = checkpoint_.path().string() + ": ";
  for (std::size_t i = 0; i < std::min(missing_.size(), kListed); ++i) {
    detail.append(i == 0 ? "" : ", ").append(missing_[i]);
  }
  if (missing_.size() > kListed) {
    detail.append(" and ").append(std::to_string(missing_.size() - kListed)).append(" more");
  }
  return Error{ModelErrc::kMissingTensor, std::move(detail)};
}

std::int64_t WeightPlanner::parameters() const {
  std::int64_t count = 0;
  for (const CheckpointTensor* tensor : used_) {
    const DTypeBlock block = block_of(tensor->dtype);
    count += static_cast<std::int64_t>(tensor->size) / block.bytes * block.elements;
  }
  return count;
}

std::vector<std::string> WeightPlanner::unused_tensors() const {
  std::vector<std::string> unused;
  for (const CheckpointTensor& tensor : checkpoint_.tensors()) {
    const bool ignored = matching_pattern(tensor.name, model_.ignored_tensors) != nullptr;
    // A tensor that an expression has read is known, but is no weight.
    const bool known =
        ignored || used_.contains(&tensor) || passed_over_.contains(&tensor) ||
        std::ranges::find(model_.read_tensors, tensor.name) != model_.read_tensors.end();
    if (!known) unused.push_back(tensor.name);
  }
  return unused;
}

}  // namespace weft
