#include "weft/model/program/program.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/core/kv_dtype.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/program/buffer_planner.h"
#include "weft/model/program/compile_values.h"
#include "weft/model/program/passes/add_sums.h"
#include "weft/model/program/passes/find_misused_buffer.h"
#include "weft/model/program/passes/share_buffers.h"
#include "weft/model/program/program_part.h"
#include "weft/model/program/stack_compiler.h"
#include "weft/model/program/weight_planner.h"
#include "weft/model/spec/architecture.h"

namespace weft {
namespace {

// Compiles the keys and values that the decoder's cross attention reads. They are computed once,
// from the encoder's last hidden states.
void compile_cross_keys(const Architecture& model, const Extent& layers, Program& program,
                        StackWriter& encoder, WeightPlanner& weights) {
  for (std::int64_t layer = layers.first; layer < layers.end(); ++layer) {
    const LayerBlock& block = model.decoder.layers[static_cast<std::size_t>(layer)];
    if (!block.has_cross) continue;
    const AttentionBlock& cross = block.cross;
    const auto shared = share_of(encoder, cross, block.cross_residual);
    const auto kv_heads = static_cast<std::int32_t>(heads_of(cross, shared).kv_heads.count);
    const auto weight = weights.qkv("decoder." + std::to_string(layer) + ".cross.kv", cross,
                                    model.hidden, false, true, kept_of(cross, shared, false, true));
    const BufferId kv = encoder.buffer("kv", std::int64_t{2} * kv_heads * cross.shape.head_size);
    encoder.emit(StackWriter::plain(weight, encoder.stream(), kv));
    RotaryOp store;
    store.qkv = {kv, encoder.next(kv)};
    store.shape = {0, kv_heads, cross.shape.head_size};
    store.group = KvGroup::kCross;
    store.layer = static_cast<std::int32_t>(layer - layers.first);
    encoder.emit(store);
  }
  const auto all = static_cast<std::int64_t>(model.decoder.layers.size());
  if (!program.part.is_last_stage(all)) encoder.emit(SendOp{encoder.stream()});
  program.encode.result = encoder.stream();
}

// Gathers the logits of the whole vocabulary on the first rank; each rank has a share.
BufferId gather_logits(const Architecture& model, const Program& program, BufferId part,
                       StackWriter& decoder) {
  GatherOp gather;
  gather.in = part;
  if (program.gives_results) {
    gather.out = decoder.buffer("logits", model.vocabulary, RowKind::kOutputs);
  }
  ProgramPart each = program.part;
  for (each.rank = 0; each.rank < each.ranks; ++each.rank) {
    gather.columns.push_back(*share_of(model.vocabulary, 1, each));
  }
  decoder.emit(gather);
  return gather.out;
}

void compile_head(const Architecture& model, Program& program, StackWriter& decoder,
                  WeightPlanner& weights) {
  const HeadBlock& head = model.head;
  BufferId in = decoder.stream();
  std::int64_t width = model.hidden;
  if (!head.projection.tensor.empty()) {
    width = model.decoder.embedding.size;
    LinearOp project;
    const auto weight = weights.linear("head.projection", head.projection, width, model.hidden);
    project.weight = weight.weight;
    project.bias = weight.bias;
    project.in = in;
    project.out = in = decoder.buffer("head.projected", width, RowKind::kOutputs);
    project.spec.activation = head.projection_activation;
    decoder.emit(project);
    in = decoder.normed("head.norm", head.projection_norm, width, in);
  }
  const LinearBlock tied{model.decoder.embedding.tensor, false};
  // Many files store the tied head a second time under its own name.
  if (head.tied) weights.pass_over(head.linear.tensor);
  const auto rows =
      program.part.ranks == 1 ? std::nullopt : share_of(model.vocabulary, 1, program.part);
  KeptPart kept;
  if (rows) kept.outputs = {*rows};
  const auto weight = weights.linear("head", head.tied ? tied : head.linear, model.vocabulary,
                                     width, kAbsent, kept);
  LinearOp op;
  op.weight = weight.weight;
  op.bias = weight.bias;
  if (!head.bias.empty()) {
    op.bias = weights.vector("head.bias", head.bias, "", model.vocabulary, false);
  } else if (head.tied) {
    op.bias = weights.vector("head.bias", head.linear.tensor, ".bias", model.vocabulary, true);
  }
  const bool bias_is_whole = op.bias != weight.bias;
  if (rows && bias_is_whole) weights.keep(op.bias, *rows);
  op.spec = head.spec;
  op.in = in;
  op.out = decoder.buffer(rows ? "logits.part" : "logits", rows ? rows->count : model.vocabulary,
                          RowKind::kOutputs);
  decoder.emit(op);
  program.shares_head = rows.has_value();
  program.decode.result = rows ? gather_logits(model, program, op.out, decoder) : op.out;
}

// The encoder runs on the first stage; later stages get its output for their own layers.
Result<void> compile_encoder(const Architecture& model, Program& program, WeightPlanner& weights) {
  StackWriter encoder(model, "encoder.", KvGroup::kEncoder, program, program.encode, weights);
  if (program.part.is_first_stage()) {
    StackCompiler stack(encoder, *model.encoder);
    auto compiled = stack.run({0, static_cast<std::int64_t>(model.encoder->layers.size())});
    if (!compiled) return compiled;
  } else {
    encoder.receive();
  }
  const auto all = static_cast<std::int64_t>(model.decoder.layers.size());
  compile_cross_keys(model, program.part.layers_of(all), program, encoder, weights);
  return {};
}

/// Returns the value of Program::window.
std::int64_t window_of_all(const Architecture& model) {
  if (model.encoder || !model.decoder.causal) return 0;
  std::int64_t window = 0;
  for (const LayerBlock& layer : model.decoder.layers) {
    const AttentionBlock* attention = layer.attention();
    if (attention == nullptr) continue;
    if (attention->spec.window == 0) return 0;
    window = std::max<std::int64_t>(window, attention->spec.window);
  }
  return window;
}

void require_written_once(const Program& program) {
  const std::string misuse = find_misused_buffer(program);
  if (!misuse.empty()) internal_error(misuse);
}

/// Runs the passes over a program whose blocks are compiled. Until share_buffers() one op writes
/// each buffer, and a pass may rely on that.
Program finish(Program program) {
  require_written_once(program);
  program = add_sums(std::move(program));
  require_written_once(program);
  program = share_buffers(std::move(program));
  plan_buffers(program.encode, program.buffers);
  plan_buffers(program.decode, program.buffers);
  return program;
}

/// Compiles the blocks to a program before its passes.
Result<Program> compile_blocks(const Architecture& architecture, const Checkpoint& checkpoint,
                               const ProgramPart& part) {
  Program program;
  program.family = architecture.family;
  program.part = part;
  program.vocabulary = architecture.vocabulary;
  program.hidden = architecture.hidden;
  program.context = architecture.context;
  program.end_tokens = architecture.end_tokens;
  program.start_token = architecture.start_token;
  program.has_encoder = architecture.encoder.has_value();
  program.causal = architecture.decoder.causal;
  program.window = window_of_all(architecture);
  program.has_logits = architecture.head.present;
  const auto all = static_cast<std::int64_t>(architecture.decoder.layers.size());
  const bool is_last = part.is_last_stage(all);
  program.gives_results = is_last && part.rank == 0;
  program.layers = part.layers_of(all).count;
  WeightPlanner weights(architecture, checkpoint, program);
  if (architecture.encoder) {
    auto compiled = compile_encoder(architecture, program, weights);
    if (!compiled) return compiled.error();
  }
  const KvGroup own = architecture.decoder.causal ? KvGroup::kSelf : KvGroup::kEncoder;
  StackWriter decoder(architecture, architecture.encoder ? "decoder." : "", own, program,
                      program.decode, weights);
  auto compiled = StackCompiler(decoder, architecture.decoder).run(part.layers_of(all));
  if (!compiled) return compiled.error();
  program.hidden_states = program.decode.result = decoder.stream();
  program.first_head_op = program.decode.ops.size();
  if (program.has_logits && is_last) compile_head(architecture, program, decoder, weights);
  if (scores_labels(checkpoint)) {  // see read_vector_model()
    weights.pass_over(architecture.scores.dense);
    weights.pass_over(architecture.scores.tensor);
  }
  auto complete = weights.result();
  if (!complete) return complete.error();
  if (own == KvGroup::kSelf && program.self_kv.empty()) {
    return Error{ModelErrc::kBadConfig, "attention: no layer of this part of the model has it"};
  }
  program.parameters = weights.parameters();
  if (part.is_whole()) program.unused_tensors = weights.unused_tensors();
  return program;
}

}  // namespace

Result<Program> compile(const Architecture& architecture, const Checkpoint& checkpoint,
                        const ProgramPart& part) {
  auto program = compile_blocks(architecture, checkpoint, part);
  if (!program) return program.error();
  return finish(*std::move(program));
}

Result<Program> compile_values(const Architecture& architecture, const Checkpoint& checkpoint) {
  auto program = compile_blocks(architecture, checkpoint, {});
  if (program) require_written_once(*program);
  return program;
}

std::int64_t MatrixPlan::bytes() const noexcept {
  if (runs.empty()) return bytes_of(dtype, outputs * inputs * (gated ? 2 : 1)).value_or(0);
  std::int64_t bytes = 0;
  for (const WeightRun& run : runs) bytes += bytes_of(run.dtype, run.outputs * inputs).value_or(0);
  return bytes;
}

std::int64_t Program::weight_bytes() const noexcept {
  std::int64_t bytes = 0;
  for (const MatrixPlan& matrix : matrices) bytes += matrix.bytes();
  for (const VectorPlan& vector : vectors) bytes += vector.size * std::int64_t{sizeof(float)};
  return bytes;
}

std::int64_t Program::kv_bytes_per_token(DType dtype) const noexcept {
  std::int64_t bytes = 0;
  for (const KvLayerPlan& layer : self_kv) {
    bytes += std::int64_t{2} * layer.kv_heads * kv_row_bytes(dtype, layer.head_size);
  }
  return bytes;
}

}  // namespace weft
