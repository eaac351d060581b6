#include "weft/gpu/cuda/buffer_types.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "weft/kernels/linear/linear_cuda.h"

namespace weft::cuda {
namespace {

/// Collects who reads and writes a buffer as what.
class Uses {
 public:
  explicit Uses(const Program& program) : program_(program), wanted_(program.buffers.size()) {
    for (const OpList* list : {&program.encode, &program.decode}) {
      for (const Op& op : list->ops) std::visit(*this, op);
      plain(list->result);
    }
    plain(program.hidden_states);  // applications read it
  }

  [[nodiscard]] std::vector<DType> types() const {
    std::vector<DType> types;
    for (const Use& use : wanted_) {
      types.push_back(use.plain || !use.type ? DType::kF32 : *use.type);
    }
    return types;
  }

  void operator()(const EmbedOp& op) { plain(op.out); }
  void operator()(const NormOp& op) {
    plain(op.in);
    plain(op.residual);
  }
  void operator()(const LinearOp& op) {
    product(op.in, op.weight);
    plain(op.residual);
  }
  void operator()(const RotaryOp& op) { plain(op.qkv); }
  void operator()(const AttentionOp& op) { plain(op.queries); }
  void operator()(const RouteOp& op) { plain(op.scores); }
  void operator()(const ExpertLinearOp& op) { product(op.in, op.weights.front()); }
  void operator()(const CombineOp& op) {
    plain(op.in);
    plain(op.residual);
    plain(op.out);
  }
  void operator()(const ScaleRowsOp& op) {
    plain(op.in);
    plain(op.scales);
    plain(op.residual);
    plain(op.out);
  }
  void operator()(const AllReduceOp& op) { plain(op.values); }
  void operator()(const GatherOp& op) {
    plain(op.in);
    plain(op.out);
  }
  void operator()(const ReceiveOp& op) { plain(op.out); }
  void operator()(const SendOp& op) { plain(op.in); }

 private:
  struct Use {
    bool plain = false;  // read or written as f32
    std::optional<DType> type;
  };

  void plain(BufferId id) {
    if (id != kAbsent) wanted_[static_cast<std::size_t>(id)].plain = true;
  }

  void product(BufferId in, MatrixId weight) {
    Use& use = wanted_[static_cast<std::size_t>(in)];
    const DType type = input_type(device_type(program_.matrices[static_cast<std::size_t>(weight)]));
    if (use.type && *use.type != type) use.plain = true;
    use.type = type;
  }

  const Program& program_;
  std::vector<Use> wanted_;
};

}  // namespace

std::vector<WeightRun> encoded_runs(const MatrixPlan& plan) {
  const std::int64_t outputs = plan.gated ? 2 * plan.outputs : plan.outputs;
  if (plan.input_order) return {};
  if (plan.runs.empty()) {
    if (!is_encoded(plan.dtype) || plan.dtype == DType::kQ8_0) return {};
    return {{plan.dtype, 0, outputs}};
  }
  const bool all_encoded =
      std::ranges::all_of(plan.runs, [](const WeightRun& run) { return is_encoded(run.dtype); });
  if (!all_encoded || plan.runs.size() > std::size_t{DeviceMatrix::kMaxRuns}) return {};
  return plan.runs;
}

DType device_type(const MatrixPlan& plan) noexcept {
  if (const auto runs = encoded_runs(plan); !runs.empty()) return runs.front().dtype;
  // Kernels read inputs in their own order; columns are put into it when the matrix is loaded.
  if (plan.input_order) return is_encoded(plan.dtype) ? DType::kBF16 : device_type(plan.dtype);
  if (plan.runs.empty()) return device_type(plan.dtype);
  const bool narrow = std::ranges::all_of(plan.runs, [](const WeightRun& run) {
    return is_encoded(run.dtype) || run.dtype == DType::kBF16;
  });
  return narrow ? DType::kBF16 : DType::kF32;
}

std::vector<DType> buffer_types(const Program& program) { return Uses(program).types(); }

}  // namespace weft::cuda
