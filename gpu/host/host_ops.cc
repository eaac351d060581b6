#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include "weft/core/error/internal_error.h"
#include "weft/gpu/host/gather_logits.h"
#include "weft/gpu/host/host_state.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_shrink.h"
#include "weft/kernels/attention/attention.h"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/linear/activate.h"
#include "weft/kernels/linear/linear.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/norm/scale_rows.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"

namespace weft {
namespace {

/// Fills an op's parameters from its plan and the step, and calls the kernel.
class OpRunner {
 public:
  OpRunner(HostState& state, HostStep& step, const Op& op, Share share)
      : state_(state), step_(step), op_(op), share_(share) {}

  void operator()(const EmbedOp& op) const {
    EmbeddingParams params;
    params.ids = step_.ids;
    params.out = rows(op.out);
    if (const CheckpointTensor* const tensor = op.table.tensor; tensor != nullptr) {
      const HostWeights::Table table = state_.weights->table(tensor);
      params.table = table.rows;
      params.packed = table.packed;
      params.dtype = tensor->dtype;
      params.first_row = op.table.rows.first;
      params.rows = op.table.rows.count;
      if (table.packed == nullptr) {
        params.table_width = tensor->shape.back();
        params.first_column = op.first_column;
      }
    }
    params.vocabulary = state_.program->vocabulary;
    params.spec = op.spec;
    params.positions = state_.weights->vector(op.positions);
    if (params.positions != nullptr) {
      params.position_ids = step_.positions;
      params.position_count =
          state_.program->vectors[static_cast<std::size_t>(op.positions)].size / params.out.width;
    }
    params.constant = state_.weights->vector(op.constant);
    params.constant_count = op.constant_rows;
    if (op.constant_rows > 1) params.constant_ids = step_.types;
    embed(params, share_);
  }

  void operator()(const NormOp& op) const {
    NormParams params;
    params.spec = op.spec;
    params.in = rows(op.in);
    params.weight = state_.weights->vector(op.weight);
    params.bias = state_.weights->vector(op.bias);
    params.scale = op.scale;
    params.sum_scale = op.sum_scale;
    params.residual = rows(op.residual);
    params.out = rows(op.out);
    norm(params, share_);
  }

  void operator()(const LinearOp& op) const {
    LinearParams params;
    params.in = rows(op.in);
    params.weight = &state_.weights->matrix(op.weight);
    params.bias = state_.weights->vector(op.bias);
    params.spec = op.spec;
    params.residual = rows(op.residual);
    params.out = rows(op.out);
    params.gate_apart = op.gate_apart;
    const bool gathers = gathers_rows(state_.planned(), op);
    // No output is wanted in this step. Empty input_rows would mean all rows.
    if (gathers && step_.outputs.empty()) return;
    if (gathers) params.input_rows = step_.outputs;
    params.packed = &state_.packed_of(op_, share_);
    linear(params, share_, state_.workspace(share_));
  }

  void operator()(const RotaryOp& op) const {
    RotaryParams params;
    params.qkv = rows(op.qkv.after);
    params.shape = op.shape;
    params.spec = op.spec;
    params.query_norm = head_norm(op.query_norm);
    params.key_norm = head_norm(op.key_norm);
    params.value_norm = head_norm(op.value_norm);
    params.position_ids = step_.positions;
    if (op.table != kAbsent) {
      const RotaryTable& table = state_.rotary[static_cast<std::size_t>(op.table)];
      params.cosines = table.cosines.data();
      params.sines = table.sines.data();
      params.table_positions = table.positions;
      if (table.long_offset != 0) params.position_ids = step_.long_positions;
    }
    params.spans = op.group == KvGroup::kCross ? step_.cross_spans : step_.spans;
    if (op.stores) params.kv = state_.kv(op.group).layers[static_cast<std::size_t>(op.layer)];
    rotate_and_store(params, share_);
  }

  void operator()(const AttentionOp& op) const {
    AttentionParams params;
    params.queries = rows(op.queries);
    params.heads = op.heads;
    params.kv = state_.kv(op.group).layers[static_cast<std::size_t>(op.layer)];
    params.spans = op.group == KvGroup::kCross ? step_.cross_spans : step_.spans;
    params.spec = op.spec;
    params.alibi_slopes = state_.weights->vector(op.alibi_slopes);
    params.relative_bias = state_.weights->vector(op.relative_bias);
    params.sinks = state_.weights->vector(op.sinks);
    params.out = rows(op.out);
    attention(params, share_, state_.workspace(share_));
  }

  void operator()(const RouteOp& op) const {
    RouteParams params;
    params.scores = rows(op.scores);
    params.spec = op.spec;
    params.selection_bias = state_.weights->vector(op.selection_bias);
    params.weight_scales = state_.weights->vector(op.weight_scales);
    const std::size_t choices = choices_of(op.spec.chosen);
    params.expert_of = std::span(step_.expert_of).first(choices);
    params.weight_of = std::span(step_.weight_of).first(choices);
    params.starts = std::span(step_.starts).first(static_cast<std::size_t>(op.experts) + 1);
    params.order = std::span(step_.order).first(choices);
    params.token_of = std::span(step_.token_of).first(choices);
    route(params, share_);
    invert_order(combine_params(op.spec.chosen), share_);
  }

  void operator()(const ExpertLinearOp& op) const {
    const ConstRows in = rows(op.in);
    const Rows out = rows(op.out);
    const bool gathers = gathers_rows(state_.planned(), op);
    for (std::size_t expert = 0; expert < op.weights.size(); ++expert) {
      const std::size_t routed = static_cast<std::size_t>(op.first_expert) + expert;
      const std::int32_t begin = step_.starts[routed];
      const std::int32_t count = step_.starts[routed + 1] - begin;
      if (count == 0) continue;
      LinearParams params;
      params.weight = &state_.weights->matrix(op.weights[expert]);
      params.bias = state_.weights->vector(op.biases[expert]);
      params.spec = op.spec;
      params.out = {out.row(begin), count, out.width, out.stride};
      if (gathers) {
        params.in = in;
        params.input_rows =
            std::span(step_.token_of)
                .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
      } else {
        params.in = {in.row(begin), count, in.width, in.stride};
      }
      linear(params, share_, state_.workspace(share_));
    }
  }

  void operator()(const CombineOp& op) const {
    CombineParams params = combine_params(op.chosen);
    params.expert_of = std::span(step_.expert_of).first(choices_of(op.chosen));
    params.experts = op.experts;
    params.in = rows(op.in);
    params.residual = rows(op.residual);
    params.out = rows(op.out);
    combine(params, share_);
  }

  void operator()(const ScaleRowsOp& op) const {
    scale_rows({rows(op.in), rows(op.scales), rows(op.residual), rows(op.out)}, share_);
  }

  void operator()(const ActivateOp& op) const {
    activate({rows(op.in), op.spec, op.gated, rows(op.residual), rows(op.out)}, share_);
  }

  void operator()(const AdapterShrinkOp& op) const {
    AdapterShrinkParams params;
    params.in = rows(op.in);
    params.low = rows(op.low);
    params.tasks = step_.adapter_tasks;
    params.first_site = static_cast<std::int32_t>(op.sites.first);
    params.sites = static_cast<std::int32_t>(op.sites.count);
    params.rank = state_.planned().adapter_rank;
    adapter_shrink(params, share_);
  }

  void operator()(const AdapterExpandOp& op) const {
    AdapterExpandParams params;
    params.low = rows(op.low);
    params.residual = rows(op.residual);
    params.out = rows(op.out);
    params.scale = op.scale;
    params.tasks = step_.adapter_tasks;
    params.runs = std::span(state_.planned().adapter_runs)
                      .subspan(static_cast<std::size_t>(op.runs.first),
                               static_cast<std::size_t>(op.runs.count));
    adapter_expand(params, share_);
  }

  void operator()(const AllReduceOp& op) const { link().all_reduce(numbers(op.values.after)); }

  void operator()(const GatherOp& op) const {
    gather_logits(op, rows(op.in), rows(op.out), state_.program->part, step_, link());
  }

  void operator()(const ReceiveOp& op) const { link().receive(numbers(op.out)); }
  void operator()(const SendOp& op) const { link().send(numbers(op.in)); }

 private:
  [[nodiscard]] RankLink& link() const {
    if (state_.link == nullptr) internal_error("a part of a model without its other ranks");
    return *state_.link;
  }

  /// Returns the rows of an operand that the op only reads, as constant rows.
  template <OperandSpec kSpec>
  [[nodiscard]] std::conditional_t<kSpec.writes(), Rows, ConstRows> rows(
      const BufferOperand<kSpec>& operand) const {
    return state_.rows(operand);
  }

  /// Returns all numbers of an operand, whose rows are contiguous.
  template <OperandSpec kSpec>
  [[nodiscard]] std::span<std::conditional_t<kSpec.writes(), float, const float>> numbers(
      const BufferOperand<kSpec>& operand) const {
    const auto all = rows(operand);
    return {all.data, static_cast<std::size_t>(all.count * all.width)};
  }

  [[nodiscard]] std::size_t choices_of(std::int32_t chosen) const {
    return step_.ids.size() * static_cast<std::size_t>(chosen);
  }

  [[nodiscard]] CombineParams combine_params(std::int32_t chosen) const {
    CombineParams params;
    const std::size_t choices = choices_of(chosen);
    params.chosen = chosen;
    params.weight_of = std::span(step_.weight_of).first(choices);
    params.order = std::span(step_.order).first(choices);
    params.place_of = std::span(step_.place_of).first(choices);
    return params;
  }

  [[nodiscard]] HeadNorm head_norm(const HeadNormPlan& plan) const {
    return {plan.spec, state_.weights->vector(plan.weight), state_.weights->vector(plan.bias)};
  }

  HostState& state_;
  HostStep& step_;
  const Op& op_;
  Share share_;
};

}  // namespace

PackedBlock& HostState::packed_of(const Op& op, Share share) {
  ThreadProduct& product = products[static_cast<std::size_t>(share.thread)];
  if (product.op != &op || product.run != runs) product = {.op = &op, .run = runs, .packed = {}};
  return product.packed;
}

void HostState::run(const Op& op, Share share) { std::visit(OpRunner(*this, step, op, share), op); }

}  // namespace weft
