#include "weft/model/program/mlp_compiler.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

namespace weft {
namespace {

void add_expert(ExpertLinearOp& op, const WeightPlanner::Linear& weight) {
  op.weights.push_back(weight.weight);
  op.biases.push_back(weight.bias);
}

}  // namespace

std::optional<Extent> MlpCompiler::share(const GatedMlpBlock& block, std::int64_t grain) const {
  if (program_.part.ranks == 1) return std::nullopt;
  return share_of(block.size, grain, program_.part);
}

std::optional<Extent> MlpCompiler::share(const MlpBlock& block, const ResidualBlock& residual) {
  if (program_.part.ranks == 1 || residual.norm_inner.present) return std::nullopt;
  if (block.experts.count == 0) return share(block.dense, weights_.input_grain(block.dense.down));
  if (!shares_expert_beside(block)) return std::nullopt;
  return share(block.dense, expert_grain(block));
}

bool MlpCompiler::shares_expert_beside(const MlpBlock& block) {
  // The shared expert's result is part of the same sum.
  const GatedMlpBlock& beside = block.experts.shared;
  return beside.size == 0 || share(beside, weights_.input_grain(beside.down));
}

std::optional<ExpertRun> MlpCompiler::own_experts(const MlpBlock& block,
                                                  const ResidualBlock& residual) {
  const ProgramPart& part = program_.part;
  if (!part.whole_experts || part.ranks == 1 || residual.norm_inner.present) return std::nullopt;
  if (!shares_expert_beside(block)) return std::nullopt;
  const auto own = share_of(block.experts.count, 1, part);
  if (!own) return std::nullopt;
  return ExpertRun{static_cast<std::int32_t>(own->first), static_cast<std::int32_t>(own->count)};
}

std::int64_t MlpCompiler::expert_grain(const MlpBlock& block) {
  std::int64_t grain = 1;
  for (int expert = 0; expert < block.experts.count; ++expert) {
    // If it is 0, the result is 0.
    grain = std::lcm(grain, weights_.input_grain(block.dense.down, expert));
  }
  return grain;
}

LinearOp MlpCompiler::up(const std::string& what, const MlpBlock& mlp, const GatedMlpBlock& block,
                         const KeptPart& kept, BufferId in, BufferId out) {
  LinearOp op = StackWriter::plain(
      mlp.gated ? weights_.gated(what + ".gate_up", block, model_.hidden, kAbsent, kept)
                : weights_.linear(what + ".up", block.up, block.size, model_.hidden, kAbsent, kept),
      in, out);
  op.spec = mlp.up;
  return op;
}

LinearOp MlpCompiler::down(const std::string& what, const GatedMlpBlock& block,
                           const KeptPart& kept, BufferId in, BufferId out) {
  return StackWriter::plain(
      weights_.linear(what + ".down", block.down, model_.hidden, block.size, kAbsent, kept), in,
      out);
}

MlpCompiler::InnerShare MlpCompiler::inner_share(const GatedMlpBlock& block,
                                                 const std::optional<Extent>& columns) const {
  InnerShare share;
  share.width = columns ? columns->count : block.size;
  if (!columns) return share;
  share.up.outputs = {*columns};
  share.down.inputs = *columns;
  share.down.bias = out_.is_first_rank();
  return share;
}

void MlpCompiler::compile(const MlpBlock& block, const ResidualBlock& residual, BufferId input) {
  if (block.experts.count > 0) {
    experts(block, residual, input);
  } else {
    dense(block, residual, input);
  }
}

void MlpCompiler::dense(const MlpBlock& block, const ResidualBlock& residual, BufferId input) {
  const auto columns = share(block, residual);
  const InnerShare own = inner_share(block.dense, columns);
  BufferId inner = out_.buffer("f", own.width);
  out_.emit(up(out_.of_layer("mlp"), block, block.dense, own.up, input, inner));
  inner = out_.normed(out_.of_layer("mlp.norm_inner"), residual.norm_inner, own.width, inner);
  const SublayerExit exit = out_.exit(residual, input, columns.has_value());
  LinearOp last = down(out_.of_layer("mlp"), block.dense, own.down, inner, exit.out);
  last.residual = exit.residual;
  last.spec.scale = exit.scale;
  out_.emit(last);
  out_.leave("mlp", residual, exit, input);
}

void MlpCompiler::experts(const MlpBlock& block, const ResidualBlock& residual, BufferId input) {
  const ExpertsBlock& routed = block.experts;
  program_.max_experts = std::max<std::int64_t>(program_.max_experts, routed.count);
  program_.max_chosen = std::max<std::int64_t>(program_.max_chosen, routed.route.chosen);
  const auto dealt = own_experts(block, residual);
  const auto columns = dealt ? std::nullopt : share(block, residual);
  const InnerShare own = inner_share(block.dense, columns);
  const bool is_part = dealt || columns;
  const bool apart = routed.norm_out.present;
  const SublayerExit exit = out_.exit(residual, input, is_part && !apart);
  const BufferId routed_in = norm_of_stream("mlp.experts.norm_in", routed.norm_in, input);
  route(routed, norm_of_stream("mlp.router_norm", routed.router_norm, routed_in), exit.scale);
  const BufferId inner = out_.buffer("f", own.width, RowKind::kChoices, routed.route.chosen);
  const BufferId each = out_.buffer("e", model_.hidden, RowKind::kChoices, routed.route.chosen);
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
    const std::string one = out_.of_layer("mlp.experts." + std::to_string(expert));
    add_expert(first, block.gated ? weights_.gated(one + ".gate_up", block.dense, model_.hidden,
                                                   expert, own.up)
                                  : weights_.linear(one + ".up", block.dense.up, block.dense.size,
                                                    model_.hidden, expert, own.up));
    add_expert(second, weights_.linear(one + ".down", block.dense.down, model_.hidden,
                                       block.dense.size, expert, own.down));
  }
  weights_.hold_alike(first.weights);
  weights_.hold_alike(second.weights);
  out_.emit(first);
  out_.emit(second);
  CombineOp combine;
  combine.chosen = routed.route.chosen;
  combine.in = each;
  combine.experts = dealt.value_or(ExpertRun{});
  const BufferId out = apart ? norm_apart(block, combine, exit, is_part, input)
                             : add_shared(block, combine, exit, input);
  out_.leave("mlp", residual, {out, exit.residual, exit.scale, exit.is_part}, input);
}

BufferId MlpCompiler::norm_of_stream(std::string_view what, const NormBlock& block,
                                     BufferId otherwise) {
  if (!block.present) return otherwise;
  const BufferId out = out_.buffer("h", model_.hidden);
  out_.norm(out_.of_layer(what), block, model_.hidden, out_.stream(), out);
  return out;
}

// Combines the experts' outputs, and adds the shared expert's output to the sum.
BufferId MlpCompiler::add_shared(const MlpBlock& block, CombineOp combine, const SublayerExit& exit,
                                 BufferId input) {
  combine.residual = exit.residual;
  combine.out = exit.out;
  out_.emit(combine);
  if (block.experts.shared.size == 0) return exit.out;
  const BufferId both = out_.next(exit.out);
  out_.mark_part(both, exit.is_part);
  shared_expert(block, {both, exit.out, exit.scale, exit.is_part}, input);
  return both;
}

// The experts' output and the shared expert's output each have a norm before they are added.
BufferId MlpCompiler::norm_apart(const MlpBlock& block, CombineOp combine, const SublayerExit& exit,
                                 bool is_part, BufferId input) {
  const ExpertsBlock& routed = block.experts;
  combine.out = out_.buffer("m", model_.hidden);
  out_.mark_part(combine.out, is_part);
  out_.emit(combine);
  const BufferId shared = out_.buffer("n", model_.hidden);
  out_.mark_part(shared, is_part);
  shared_expert(block, {shared, kAbsent, exit.scale, is_part}, input);
  const BufferId sum = out_.normed(out_.of_layer("mlp.experts.norm_out"), routed.norm_out,
                                   model_.hidden, combine.out);
  out_.norm(out_.of_layer("mlp.shared.norm_out"), routed.shared_norm_out, model_.hidden, shared,
            exit.out, sum);
  return exit.out;
}

void MlpCompiler::route(const ExpertsBlock& routed, BufferId input, float scale) {
  const BufferId scores = out_.buffer("scores", routed.count);
  LinearOp score =
      StackWriter::plain(weights_.linear(out_.of_layer("mlp.router"), routed.router_tensor,
                                         routed.count, model_.hidden),
                         input, scores);
  score.spec.scale = routed.router_scale;
  score.spec.soft_cap = routed.router_soft_cap;
  out_.emit(score);
  RouteOp op;
  op.scores = scores;
  op.experts = routed.count;
  op.spec = routed.route;
  op.spec.scale *= scale;
  op.selection_bias = weights_.vector(out_.of_layer("mlp.selection_bias"), routed.selection_bias,
                                      "", routed.count, false);
  op.weight_scales = weights_.vector(out_.of_layer("mlp.weight_scales"), routed.weight_scales, "",
                                     routed.count, false);
  out_.emit(op);
}

void MlpCompiler::shared_expert(const MlpBlock& block, const SublayerExit& exit, BufferId input) {
  const GatedMlpBlock& shared = block.experts.shared;
  const InnerShare own = inner_share(
      shared, exit.is_part ? share(shared, weights_.input_grain(shared.down)) : std::nullopt);
  const BufferId inner = out_.buffer("s", own.width);
  const std::string what = out_.of_layer("mlp.shared");
  out_.emit(up(what, block, shared, own.up, input, inner));
  if (block.experts.shared_gate.tensor.empty()) {
    LinearOp last = down(what, shared, own.down, inner, exit.out);
    last.residual = exit.residual;
    last.spec.scale = exit.scale;
    out_.emit(last);
    return;
  }
  const BufferId gate = out_.buffer("g", 1);
  LinearOp gate_op =
      StackWriter::plain(weights_.linear(out_.of_layer("mlp.shared.gate"),
                                         block.experts.shared_gate, 1, model_.hidden),
                         input, gate);
  gate_op.spec.activation = Activation::kSigmoid;
  gate_op.spec.scale = exit.scale;
  out_.emit(gate_op);
  const BufferId ungated = out_.buffer("u", model_.hidden);
  out_.emit(down(what, shared, own.down, inner, ungated));
  out_.emit(ScaleRowsOp{ungated, gate, exit.residual, exit.out});
}

}  // namespace weft
