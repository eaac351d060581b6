// What stands behind attention in a layer: its MLP or experts, and the sublayer that an embedding
// of its own gates.

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "weft/core/dtype.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/program/stack_compiler.h"

namespace weft {
namespace {

void add_expert(ExpertLinearOp& op, const WeightPlanner::Linear& weight) {
  op.weights.push_back(weight.weight);
  op.biases.push_back(weight.bias);
}

}  // namespace

std::optional<Extent> StackCompiler::share(const GatedMlpBlock& block, std::int64_t grain) const {
  if (program_.part.ranks == 1) return std::nullopt;
  return share_of(block.size, grain, program_.part);
}

std::optional<Extent> StackCompiler::share(const MlpBlock& block, const ResidualBlock& residual) {
  if (program_.part.ranks == 1 || residual.norm_inner.present) return std::nullopt;
  if (block.experts.count == 0) return share(block.dense, weights_.input_grain(block.dense.down));
  if (!shares_expert_beside(block)) return std::nullopt;
  return share(block.dense, expert_grain(block));
}

bool StackCompiler::shares_expert_beside(const MlpBlock& block) {
  // The shared expert's result is part of the same sum.
  const GatedMlpBlock& beside = block.experts.shared;
  return beside.size == 0 || share(beside, weights_.input_grain(beside.down));
}

std::optional<ExpertRun> StackCompiler::own_experts(const MlpBlock& block,
                                                    const ResidualBlock& residual) {
  const ProgramPart& part = program_.part;
  if (!part.whole_experts || part.ranks == 1 || residual.norm_inner.present) return std::nullopt;
  if (!shares_expert_beside(block)) return std::nullopt;
  const auto own = share_of(block.experts.count, 1, part);
  if (!own) return std::nullopt;
  return ExpertRun{static_cast<std::int32_t>(own->first), static_cast<std::int32_t>(own->count)};
}

std::int64_t StackCompiler::expert_grain(const MlpBlock& block) {
  std::int64_t grain = 1;
  for (int expert = 0; expert < block.experts.count; ++expert) {
    grain = std::lcm(grain, weights_.input_grain(block.dense.down, expert));  // of 0 it is 0
  }
  return grain;
}

LinearOp StackCompiler::up(const std::string& what, const MlpBlock& mlp, const GatedMlpBlock& block,
                           const KeptPart& kept, BufferId in, BufferId out) {
  LinearOp op = plain(
      mlp.gated ? weights_.gated(what + ".gate_up", block, model_.hidden, kAbsent, kept)
                : weights_.linear(what + ".up", block.up, block.size, model_.hidden, kAbsent, kept),
      in, out);
  op.spec = mlp.up;
  return op;
}

LinearOp StackCompiler::down(const std::string& what, const GatedMlpBlock& block,
                             const KeptPart& kept, BufferId in, BufferId out) {
  return plain(
      weights_.linear(what + ".down", block.down, model_.hidden, block.size, kAbsent, kept), in,
      out);
}

StackCompiler::InnerShare StackCompiler::inner_share(const GatedMlpBlock& block,
                                                     const std::optional<Extent>& columns) const {
  InnerShare share;
  share.width = columns ? columns->count : block.size;
  if (!columns) return share;
  share.up.outputs = {*columns};
  share.down.inputs = *columns;
  share.down.bias = is_first_rank();
  return share;
}

void StackCompiler::mlp(const MlpBlock& block, const ResidualBlock& residual, BufferId input) {
  if (block.experts.count > 0) {
    experts(block, residual, input);
    return;
  }
  const auto columns = share(block, residual);
  const InnerShare own = inner_share(block.dense, columns);
  const BufferId inner = buffer("f", own.width);
  emit(up(name("mlp"), block, block.dense, own.up, input, inner));
  norm(name("mlp.norm_inner"), residual.norm_inner, own.width, inner, inner);
  const Exit exit = exit_of(residual, input, columns.has_value());
  LinearOp last = down(name("mlp"), block.dense, own.down, inner, exit.out);
  last.residual = exit.residual;
  last.spec.scale = exit.scale;
  emit(last);
  leave(name("mlp"), residual, exit, input);
}

void StackCompiler::experts(const MlpBlock& block, const ResidualBlock& residual, BufferId input) {
  const ExpertsBlock& routed = block.experts;
  program_.max_experts = std::max<std::int64_t>(program_.max_experts, routed.count);
  program_.max_chosen = std::max<std::int64_t>(program_.max_chosen, routed.route.chosen);
  const auto dealt = own_experts(block, residual);
  const auto columns = dealt ? std::nullopt : share(block, residual);
  const InnerShare own = inner_share(block.dense, columns);
  const Exit exit = exit_of(residual, input, dealt || columns);
  const BufferId routed_in = normed("mlp.experts.norm_in", routed.norm_in, input);
  route(routed, normed("mlp.router_norm", routed.router_norm, routed_in), exit.scale);
  const BufferId inner = buffer("f", own.width, RowKind::kChoices, routed.route.chosen);
  const BufferId each = buffer("e", model_.hidden, RowKind::kChoices, routed.route.chosen);
  ExpertLinearOp first;
  first.spec = block.up;
  first.in = routed_in;
  first.out = inner;
  ExpertLinearOp second;
  second.in = inner;
  second.out = each;
  const ExpertRun here = dealt.value_or(ExpertRun{0, routed.count});
  first.first_expert = second.first_expert = here.first;
  for (int expert = here.first; expert < here.first + here.count; ++expert) {
    const std::string one = name("mlp.experts." + std::to_string(expert));
    add_expert(first, block.gated ? weights_.gated(one + ".gate_up", block.dense, model_.hidden,
                                                   expert, own.up)
                                  : weights_.linear(one + ".up", block.dense.up, block.dense.size,
                                                    model_.hidden, expert, own.up));
    add_expert(second, weights_.linear(one + ".down", block.dense.down, model_.hidden,
                                       block.dense.size, expert, own.down));
  }
  weights_.hold_alike(first.weights);
  weights_.hold_alike(second.weights);
  emit(first);
  emit(second);
  const ExpertRun added = dealt.value_or(ExpertRun{});
  if (routed.norm_out.present) {
    const BufferId sum = buffer("m", model_.hidden);
    emit(CombineOp{routed.route.chosen, each, kAbsent, sum, added});
    Exit apart = exit;
    apart.out = buffer("n", model_.hidden);
    shared_expert(block, apart, input);
    norm_apart(routed, sum, apart.out, exit);
    leave(name("mlp"), residual, {exit.out, exit.residual, exit.scale, false}, input);
    return;
  }
  emit(CombineOp{routed.route.chosen, each, exit.residual, exit.out, added});
  if (routed.shared.size > 0) shared_expert(block, exit, input);
  leave(name("mlp"), residual, exit, input);
}

BufferId StackCompiler::normed(const std::string& what, const NormBlock& block,
                               BufferId otherwise) {
  if (!block.present) return otherwise;
  const BufferId out = buffer("h", model_.hidden);
  norm(name(what), block, model_.hidden, stream_, out);
  return out;
}

// What the experts and what the shared one give have a norm each before they are added.
void StackCompiler::norm_apart(const ExpertsBlock& routed, BufferId routed_sum, BufferId shared,
                               const Exit& exit) {
  if (exit.is_part) {
    sum_up(routed_sum);
    sum_up(shared);
  }
  norm(name("mlp.experts.norm_out"), routed.norm_out, model_.hidden, routed_sum, routed_sum);
  norm(name("mlp.shared.norm_out"), routed.shared_norm_out, model_.hidden, shared, exit.out,
       routed_sum);
}

void StackCompiler::route(const ExpertsBlock& routed, BufferId input, float scale) {
  const BufferId scores = buffer("scores", routed.count);
  LinearOp score =
      plain(weights_.linear(name("mlp.router"), routed.router_tensor, routed.count, model_.hidden),
            input, scores);
  score.spec.scale = routed.router_scale;
  score.spec.soft_cap = routed.router_soft_cap;
  emit(score);
  RouteOp op;
  op.scores = scores;
  op.experts = routed.count;
  op.spec = routed.route;
  op.spec.scale *= scale;
  op.selection_bias =
      weights_.vector(name("mlp.selection_bias"), routed.selection_bias, "", routed.count, false);
  op.weight_scales =
      weights_.vector(name("mlp.weight_scales"), routed.weight_scales, "", routed.count, false);
  emit(op);
}

void StackCompiler::shared_expert(const MlpBlock& block, const Exit& exit, BufferId input) {
  const GatedMlpBlock& shared = block.experts.shared;
  const InnerShare own = inner_share(
      shared, exit.is_part ? share(shared, weights_.input_grain(shared.down)) : std::nullopt);
  const BufferId inner = buffer("s", own.width);
  const std::string what = name("mlp.shared");
  emit(up(what, block, shared, own.up, input, inner));
  if (block.experts.shared_gate.tensor.empty()) {
    LinearOp last = down(what, shared, own.down, inner, exit.out);
    if (!block.experts.norm_out.present) last.residual = exit.out;
    last.spec.scale = exit.scale;
    emit(last);
    return;
  }
  const BufferId gate = buffer("g", 1);
  LinearOp gate_op =
      plain(weights_.linear(name("mlp.shared.gate"), block.experts.shared_gate, 1, model_.hidden),
            input, gate);
  gate_op.spec.activation = Activation::kSigmoid;
  gate_op.spec.scale = exit.scale;
  emit(gate_op);
  const BufferId ungated = buffer("u", model_.hidden);
  emit(down(what, shared, own.down, inner, ungated));
  emit(ScaleRowsOp{ungated, gate, exit.out, exit.out});
}

void StackCompiler::layer_input(const LayerInputBlock& block) {
  const auto layers = static_cast<std::int64_t>(stack_.layers.size());
  const Extent columns{static_cast<std::int64_t>(layer_) * block.size, block.size};
  const BufferId own = buffer("p", block.size);
  KeptPart kept;
  kept.outputs = {columns};
  LinearOp project = plain(weights_.linear(name("layer_input.projection"), block.projection,
                                           layers * block.size, model_.hidden, kAbsent, kept),
                           embedded_, own);
  project.spec.scale = block.projection_scale;
  emit(project);
  EmbedOp row;
  const CheckpointTensor* table =
      weights_.embedding(block.tensor, model_.vocabulary, layers * block.size);
  row.table = {table, {0, model_.vocabulary}};
  row.first_column = columns.first;
  row.spec = block.spec;
  row.out = buffer("t", block.size);
  if (table != nullptr && columns.first % block_of(table->dtype).elements != 0) {
    weights_.refuse({ModelErrc::kBadTensor, table->name + " is " +
                                                std::string(to_string(table->dtype)) +
                                                ", whose blocks layers would share"});
  }
  emit(row);
  norm(name("layer_input.norm"), block.norm, block.size, own, own, row.out, 1, block.scale);
  const BufferId gate = buffer("g", block.size);
  LinearOp gated =
      plain(weights_.linear(name("layer_input.gate"), block.gate, block.size, model_.hidden),
            stream_, gate);
  gated.spec.activation = block.activation;
  emit(gated);
  emit(ScaleRowsOp{gate, own, kAbsent, gate});
  const Exit exit = exit_of(block.residual, stream_, false);
  LinearOp last =
      plain(weights_.linear(name("layer_input.out"), block.out, model_.hidden, block.size), gate,
            exit.out);
  last.residual = exit.residual;
  last.spec.scale = exit.scale;
  emit(last);
  leave(name("layer_input"), block.residual, exit, stream_);
}

}  // namespace weft
