#include "weft/model/program/stack_compiler.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/core/dtype.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"

namespace weft {

Result<void> StackCompiler::run(const Extent& layers) {
  if (auto planned = attention_.plan_rotary(); !planned) return planned;
  out_.begin_layers(static_cast<std::size_t>(layers.first));
  if (layers.first > 0) {
    out_.receive();
  } else {
    out_.begin_stream();
    embedding_.embed();
  }
  embedded_ = embedding_.embed_for_layers();
  const auto end = static_cast<std::size_t>(layers.end());
  for (; out_.layer() < end; out_.next_layer()) {
    auto compiled = layer(stack_.layers[out_.layer()]);
    if (!compiled) return compiled;
  }
  if (end == stack_.layers.size()) {
    out_.norm_stream(out_.of_stack("final_norm"), stack_.final_norm);
  } else {
    out_.emit(SendOp{out_.stream()});
  }
  return {};
}

/// x += mixer(norm(x)), then x += cross(norm(x)) if there is an encoder, then x += mlp(norm(x)),
/// then the gate by the layer's own input. ResidualBlock says where the norms are.
Result<void> StackCompiler::layer(const LayerBlock& layer) {
  if (layer.parallel) {
    if (auto compiled = parallel_layer(layer); !compiled) return compiled;
  } else {
    mix(layer, out_.entry("attention", layer.mixer_residual));
    attend_to_encoder(layer);
    mlp_.compile(layer.mlp, layer.mlp_residual, out_.entry("mlp", layer.mlp_residual));
  }
  if (layer.input.size > 0) gate_by_input(layer.input);
  return {};
}

/// h = norm(x), and x += mixer(h) + mlp(h).
Result<void> StackCompiler::parallel_layer(const LayerBlock& layer) {
  const BufferId mixer_in = out_.entry("attention", layer.mixer_residual);
  const BufferId mlp_in =
      layer.mlp_residual.norm_in.present ? out_.entry("mlp", layer.mlp_residual) : mixer_in;
  if (mlp_in == out_.stream() || mixer_in == out_.stream()) {
    return Error{ModelErrc::kBadSpec, "parallel needs attention.norm_in"};
  }
  mix(layer, mixer_in);
  attend_to_encoder(layer);
  mlp_.compile(layer.mlp, layer.mlp_residual, mlp_in);
  return {};
}

void StackCompiler::mix(const LayerBlock& layer, BufferId input) {
  if (const AttentionBlock* attention = layer.attention()) {
    attention_.attend(*attention, layer.mixer_residual, input);
  } else {
    attention_.pass();
  }
}

void StackCompiler::attend_to_encoder(const LayerBlock& layer) {
  if (layer.has_cross) attention_.attend_to_encoder(layer.cross, layer.cross_residual);
}

/// x += out(activation(gate(x)) * own), where `own` is the layer's part of an embedding.
void StackCompiler::gate_by_input(const LayerInputBlock& block) {
  WeightPlanner& weights = out_.weights();
  const Architecture& model = out_.model();
  const auto layers = static_cast<std::int64_t>(stack_.layers.size());
  const Extent columns{static_cast<std::int64_t>(out_.layer()) * block.size, block.size};
  const BufferId own = out_.buffer("p", block.size);
  KeptPart kept;
  kept.outputs = {columns};
  LinearOp project =
      StackWriter::plain(weights.linear(out_.of_layer("layer_input.projection"), block.projection,
                                        layers * block.size, model.hidden, kAbsent, kept),
                         embedded_, own);
  project.spec.scale = block.projection_scale;
  out_.emit(project);
  EmbedOp row;
  const CheckpointTensor* table =
      weights.embedding(block.tensor, model.vocabulary, layers * block.size);
  row.table = {table, {0, model.vocabulary}};
  row.first_column = columns.first;
  row.spec = block.spec;
  row.out = out_.buffer("t", block.size);
  if (table != nullptr && columns.first % block_of(table->dtype).elements != 0) {
    weights.refuse({ModelErrc::kBadTensor, table->name + " is " +
                                               std::string(to_string(table->dtype)) +
                                               ", whose blocks layers would share"});
  }
  out_.emit(row);
  const BufferId both = out_.next(own);
  out_.norm(out_.of_layer("layer_input.norm"), block.norm, block.size, own, both, row.out, 1,
            block.scale);
  const BufferId gate = out_.buffer("g", block.size);
  LinearOp gated = StackWriter::plain(
      weights.linear(out_.of_layer("layer_input.gate"), block.gate, block.size, model.hidden),
      out_.stream(), gate);
  gated.spec.activation = block.activation;
  out_.emit(gated);
  const BufferId inner = out_.next(gate);
  out_.emit(ScaleRowsOp{gate, both, kAbsent, inner});
  const SublayerExit exit = out_.exit(block.residual, out_.stream(), false);
  LinearOp last = StackWriter::plain(
      weights.linear(out_.of_layer("layer_input.out"), block.out, model.hidden, block.size), inner,
      exit.out);
  last.residual = exit.residual;
  last.spec.scale = exit.scale;
  out_.emit(last);
  out_.leave("layer_input", block.residual, exit, out_.stream());
}

}  // namespace weft
