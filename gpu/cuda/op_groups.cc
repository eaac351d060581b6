#include "weft/gpu/cuda/op_groups.h"

#include <variant>

#include "weft/model/program/operands.h"

namespace weft::cuda {
namespace {

template <class One>
const One* op_at(std::span<const Op> ops, std::size_t at) {
  return at < ops.size() ? std::get_if<One>(&ops[at]) : nullptr;
}

bool is_plain_rms(const NormOp& op) {
  return op.spec.kind == NormKind::kRms && op.bias == kAbsent && op.residual == kAbsent &&
         op.scale == 1 && op.sum_scale == 1;
}

/// Whether an op, or who gets the results, reads a buffer before one of these ops writes it.
bool is_read(const Program& program, BufferId id, std::span<const Op> ops) {
  for (const Op& op : ops) {
    bool reads = false;
    bool writes = false;
    const auto look = [&]<OperandSpec kSpec>(const BufferOperand<kSpec>& other) {
      if (other == id) (kSpec.writes() ? writes : reads) = true;
    };
    std::visit([&](const auto& one) { for_each_buffer(one, look); }, op);
    if (reads || writes) return reads;
  }
  return id == program.hidden_states || id == program.decode.result || id == program.encode.result;
}

}  // namespace

bool are_products_around_norm(const Program& program, std::span<const Op> ops) {
  const auto* before = op_at<LinearOp>(ops, 0);
  const auto* norm = op_at<NormOp>(ops, 1);
  const auto* behind = op_at<LinearOp>(ops, 2);
  if (before == nullptr || norm == nullptr || behind == nullptr) return false;
  return norm->in == before->out && norm->out == behind->in && norm->out != norm->in &&
         is_plain_rms(*norm) && !gathers_rows(program, *before) &&
         !gathers_rows(program, *behind) && behind->residual != norm->out &&
         !is_read(program, norm->out, ops.subspan(3));
}

bool are_rotary_and_attention(std::span<const Op> ops) {
  const auto* rotary = op_at<RotaryOp>(ops, 0);
  const auto* attention = op_at<AttentionOp>(ops, 1);
  return rotary != nullptr && attention != nullptr && attention->queries == rotary->qkv.after &&
         attention->group == rotary->group && attention->layer == rotary->layer;
}

bool are_gates_apart(std::span<const Op> ops) {
  const auto* expand = op_at<AdapterExpandOp>(ops, 0);
  const auto* product = op_at<LinearOp>(ops, 1);
  const auto* activate = op_at<ActivateOp>(ops, 2);
  return expand != nullptr && product != nullptr && activate != nullptr && product->gate_apart &&
         activate->in == product->out;
}

bool are_sum_and_norm(std::span<const Op> ops) {
  const auto* sum = op_at<AllReduceOp>(ops, 0);
  const auto* norm = op_at<NormOp>(ops, 1);
  return sum != nullptr && norm != nullptr && norm->in == sum->values.after;
}

}  // namespace weft::cuda
