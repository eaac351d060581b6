#include "weft/gpu/cuda/buffer_types.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "weft/core/dtype.h"
#include "weft/core/encodings.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/model/program/operands.h"

namespace weft::cuda {
namespace {

/// Collects the types in which ops read and write each buffer.
class Uses {
 public:
  Uses(const Program& program, bool codes)
      : program_(program), codes_(codes), wanted_(program.buffers.size()) {
    for (const OpList* list : {&program.encode, &program.decode}) {
      for (const Op& op : list->ops) std::visit(*this, op);
      plain(list->result);
    }
    plain(program.hidden_states);  // applications read the hidden states
  }

  [[nodiscard]] std::vector<DType> types() const {
    std::vector<DType> types;
    for (const Use& use : wanted_) {
      types.push_back(use.plain || !use.type ? DType::kF32 : *use.type);
    }
    return types;
  }

  template <class AnyOp>
  void operator()(const AnyOp& op) {
    for_each_buffer(op, [&]<OperandSpec kSpec>(const BufferOperand<kSpec>& buffer) {
      switch (kSpec.type) {
        case OperandType::kF32:
          return plain(buffer);
        case OperandType::kAny:
          return;
        case OperandType::kOfWeight:
          return product(buffer, weight_plan(op), ProductKind::kExperts);
        case OperandType::kOfWeightOrCodes:
          return product(buffer, weight_plan(op), ProductKind::kMatrix);
      }
    });
  }

 private:
  struct Use {
    bool plain = false;  // whether an op reads or writes the buffer as f32
    std::optional<DType> type;
  };

  void plain(BufferId id) {
    if (id != kAbsent) wanted_[static_cast<std::size_t>(id)].plain = true;
  }

  /// Returns the op's first matrix: all experts' matrices are held in one type.
  template <class AnyOp>
  [[nodiscard]] const MatrixPlan& weight_plan(const AnyOp& op) const {
    MatrixId first;
    for_each_matrix(op, [&](const MatrixId& weight) {
      if (first == kAbsent) first = weight;
    });
    return program_.matrices[static_cast<std::size_t>(first)];
  }

  void product(BufferId in, const MatrixPlan& plan, ProductKind kind) {
    const DeviceMatrix matrix = matrix_of(plan, codes_ && has_way_of_codes(kind));
    const DType type = input_type(usual_way(kind, matrix, codes_), matrix);
    Use& use = wanted_[static_cast<std::size_t>(in)];
    if (use.type && *use.type != type) use.plain = true;
    use.type = type;
  }

  const Program& program_;
  const bool codes_;
  std::vector<Use> wanted_;
};

/// Returns encoded_runs(), with one run for a matrix of q8_0 alone.
std::vector<WeightRun> all_runs(const MatrixPlan& plan) {
  const std::int64_t outputs = plan.gated ? 2 * plan.outputs : plan.outputs;
  if (plan.input_order) return {};
  if (plan.runs.empty()) {
    if (!is_encoded(plan.dtype)) return {};
    return {{plan.dtype, 0, outputs}};
  }
  const bool all_encoded =
      std::ranges::all_of(plan.runs, [](const WeightRun& run) { return is_encoded(run.dtype); });
  if (!all_encoded || plan.runs.size() > std::size_t{DeviceMatrix::kMaxRuns}) return {};
  return plan.runs;
}

/// Whether a run's outputs fill whole boxes, and a box fits a buffer for loading.
bool can_be_boxed(const MatrixPlan& plan, const WeightRun& run) {
  if (plan.gated && plan.outputs % CodeBox::kRows != 0) return false;
  return fill_boxes(run.dtype, run.outputs, plan.inputs) &&
         boxed_bytes(run.dtype, CodeBox::kRows, plan.inputs) <=
             static_cast<std::int64_t>(kLoadBufferBytes);
}

/// Returns the runs in which products by codes are computed; empty if the matrix has none.
std::vector<WeightRun> runs_of_codes(const MatrixPlan& plan) {
  std::vector<WeightRun> runs = all_runs(plan);
  if (plan.gated && runs.size() > 1) return {};
  const bool all = std::ranges::all_of(runs, [&](const WeightRun& run) {
    const TensorCodes held = encoding_row(run.dtype).tensor_codes;
    return held == TensorCodes::kBlocks || (held == TensorCodes::kBoxes && can_be_boxed(plan, run));
  });
  return all ? std::move(runs) : std::vector<WeightRun>{};
}

}  // namespace

std::vector<WeightRun> encoded_runs(const MatrixPlan& plan) {
  if (plan.runs.empty() && plan.dtype == DType::kQ8_0) return {};
  return all_runs(plan);
}

DType device_type(const MatrixPlan& plan) noexcept {
  if (const auto runs = encoded_runs(plan); !runs.empty()) return runs.front().dtype;
  // Kernels read inputs in their own order; loading puts the columns into that order.
  if (plan.input_order) return is_encoded(plan.dtype) ? DType::kBF16 : device_type(plan.dtype);
  if (plan.runs.empty()) return device_type(plan.dtype);
  const bool narrow = std::ranges::all_of(plan.runs, [](const WeightRun& run) {
    return is_encoded(run.dtype) || run.dtype == DType::kBF16;
  });
  return narrow ? DType::kBF16 : DType::kF32;
}

DeviceMatrix matrix_of(const MatrixPlan& plan, bool codes) noexcept {
  DeviceMatrix matrix;
  matrix.dtype = device_type(plan);
  matrix.outputs = plan.outputs;
  matrix.inputs = plan.inputs;
  matrix.gated = plan.gated;
  matrix.stride = rounded_row(plan.inputs);
  std::vector<WeightRun> runs;
  if (codes) runs = runs_of_codes(plan);
  const bool for_codes = !runs.empty();
  if (!for_codes) runs = encoded_runs(plan);
  for (const WeightRun& run : runs) {
    EncodedRun& held = matrix.runs[matrix.run_count++];
    held.dtype = run.dtype;
    held.first = static_cast<std::int32_t>(run.first_output);
    held.boxed = for_codes && encoding_row(run.dtype).tensor_codes == TensorCodes::kBoxes;
    const CodeBox box = box_of(run.dtype);
    const DTypeBlock block =
        held.boxed ? DTypeBlock{box.columns, box.bytes()} : block_of(run.dtype);
    held.block_elements = static_cast<std::int32_t>(block.elements);
    held.block_bytes = static_cast<std::int32_t>(block.bytes);
  }
  return matrix;
}

std::vector<DType> buffer_types(const Program& program, bool codes) {
  return Uses(program, codes).types();
}

}  // namespace weft::cuda
