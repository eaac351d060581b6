#include "weft/gpu/cuda/op_groups.h"

#include <cstddef>
#include <optional>
#include <span>
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

/// Whether an op, or the program's caller, reads a buffer before one of these ops writes it.
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

std::optional<WholeProduct> whole_product(std::span<const Op> ops) {
  if (const auto* plain = op_at<LinearOp>(ops, 0); plain != nullptr && !plain->gate_apart)
    return WholeProduct{.op = *plain, .ops = 1};
  const auto* shrink = op_at<AdapterShrinkOp>(ops, 0);
  const auto* expand = op_at<AdapterExpandOp>(ops, 1);
  const auto* product = op_at<LinearOp>(ops, 2);
  if (shrink == nullptr || expand == nullptr || product == nullptr || shrink->low != expand->low ||
      shrink->in != product->in || expand->out != product->residual) {
    return std::nullopt;
  }
  WholeProduct whole{.op = *product, .shrink = shrink, .expand = expand, .ops = 3};
  whole.op.residual = expand->residual;
  const auto* activate = op_at<ActivateOp>(ops, 3);
  if (activate == nullptr || activate->in != product->out) return whole;
  whole.op.spec = activate->spec;
  whole.op.residual = activate->residual;
  whole.op.out = activate->out;
  whole.op.gate_apart = false;
  ++whole.ops;
  return whole;
}

std::optional<NormedProducts> products_around_norm(const Program& program,
                                                   std::span<const Op> ops) {
  const auto before = whole_product(ops);
  if (!before) return std::nullopt;
  const auto* norm = op_at<NormOp>(ops, before->ops);
  if (norm == nullptr) return std::nullopt;
  const auto behind = whole_product(ops.subspan(before->ops + 1));
  if (!behind) return std::nullopt;
  const LinearOp& first = before->op;
  const LinearOp& second = behind->op;
  const NormedProducts found{*before, norm, *behind};
  const bool are_group = norm->in == first.out && norm->out == second.in && norm->out != norm->in &&
                         is_plain_rms(*norm) && !gathers_rows(program, first) &&
                         !gathers_rows(program, second) && second.residual != norm->out &&
                         !is_read(program, norm->out, ops.subspan(found.ops()));
  return are_group ? std::optional(found) : std::nullopt;
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
