#include "weft/model/program/program.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "weft/kernels/attention/relative_bias.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/program/buffer_planner.h"
#include "weft/model/program/position_tables.h"
#include "weft/model/program/weight_planner.h"
#include "weft/model/spec/architecture.h"

namespace weft {
namespace {

// Computed position tables are float32: this bounds them to 1 GiB at a width of 4096.
constexpr std::int64_t kMaxTablePositions = 65536;

void reverse(RotaryFrequencies& frequencies) {
  for (float& frequency : frequencies.frequency) frequency = -frequency;
  for (float& frequency : frequencies.long_frequency) frequency = -frequency;
}

/// Turns the blocks of one stack into ops.
class StackCompiler {
 public:
  StackCompiler(const Architecture& model, const StackBlock& stack, const std::string& prefix,
                KvGroup group, Program& program, OpList& list, WeightPlanner& weights)
      : model_(model),
        stack_(stack),
        prefix_(prefix),
        group_(group),
        program_(program),
        list_(list),
        weights_(weights) {}

  Result<void> run() {
    for (const RotaryBlock& block : stack_.rotary) {
      auto frequencies = rotary_frequencies(block.size, block.theta, block.scaling, model_.context,
                                            model_.trained_context);
      if (!frequencies) return frequencies.error();
      if (block.reversed) reverse(*frequencies);
      program_.context = std::max(program_.context, frequencies->context);
      const auto found = std::ranges::find(program_.rotary, *frequencies);
      rotary_tables_.push_back(static_cast<std::int32_t>(found - program_.rotary.begin()));
      if (found == program_.rotary.end()) program_.rotary.push_back(std::move(*frequencies));
    }
    stream_ = buffer("x", model_.hidden);
    embed();
    for (layer_ = 0; layer_ < stack_.layers.size(); ++layer_) {
      auto compiled = layer(stack_.layers[layer_]);
      if (!compiled) return compiled;
    }
    norm(prefix_ + "final_norm", stack_.final_norm, model_.hidden, stream_, stream_);
    return {};
  }

  [[nodiscard]] BufferId stream() const { return stream_; }

  BufferId buffer(std::string_view name, std::int64_t width, RowKind rows = RowKind::kTokens,
                  std::int64_t rows_per_token = 1) {
    program_.buffers.push_back({prefix_ + std::string(name), rows, width, rows_per_token, 0});
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }

  void emit(Op op) { list_.ops.push_back(std::move(op)); }

  /// Normalizes `in` into `out`; nothing when the block is not there.
  void norm(const std::string& name, const NormBlock& block, std::int64_t width, BufferId in,
            BufferId out, BufferId residual = kAbsent, float scale = 1) {
    if (!block.present) return;
    NormOp op;
    op.spec = block.spec;
    op.weight = weights_.vector(name + ".weight", block.tensor, ".weight", width, false);
    op.bias = weights_.vector(name + ".bias", block.tensor, ".bias", width, true);
    op.scale = scale;
    op.in = in;
    op.residual = residual;
    op.out = out;
    emit(op);
  }

 private:
  [[nodiscard]] std::string name(std::string_view what) const {
    return prefix_ + std::to_string(layer_) + "." + std::string(what);
  }

  void embed() {
    const EmbeddingBlock& block = stack_.embedding;
    EmbedOp op;
    op.table = weights_.embedding(block.tensor, model_.vocabulary, block.size);
    op.spec = block.spec;
    op.constant = types(block);
    const bool projects = !block.projection.tensor.empty();
    const bool apart = projects || block.token_norm.present;
    op.out = apart ? buffer("e", block.size) : stream_;
    positions(op);
    if (apart) {
      embed_apart(op, block, projects);
    } else {
      emit(op);
    }
    norm(prefix_ + "embedding.norm", block.norm, model_.hidden, stream_, stream_);
  }

  // Positions are as wide as the stream and have no norm of their own: they are added to what a
  // projection or a norm makes of the token.
  void embed_apart(EmbedOp op, const EmbeddingBlock& block, bool projects) {
    EmbedOp placed = op;
    placed.table = nullptr;
    placed.constant = kAbsent;
    placed.out = stream_;
    op.positions = kAbsent;
    emit(op);
    const BufferId residual = placed.positions == kAbsent ? kAbsent : stream_;
    if (residual != kAbsent) emit(placed);
    const std::string token_norm = prefix_ + "embedding.token_norm";
    if (!projects) {
      norm(token_norm, block.token_norm, block.size, op.out, stream_, residual);
      return;
    }
    norm(token_norm, block.token_norm, block.size, op.out, op.out);
    LinearOp project = plain(weights_.linear(prefix_ + "embedding.projection", block.projection,
                                             model_.hidden, block.size),
                             op.out, stream_);
    project.residual = residual;
    emit(project);
  }

  // Row 0 of the token types: requests have one segment.
  VectorId types(const EmbeddingBlock& block) {
    if (block.types.empty()) return kAbsent;
    std::int64_t rows = 0;
    const VectorId table =
        weights_.table(prefix_ + "embedding.types", block.types, block.size, false, &rows);
    return table;
  }

  void positions(EmbedOp& op) {
    const PositionBlock& block = stack_.embedding.positions;
    const std::int64_t offset = op.spec.position_offset;
    const std::string table = prefix_ + "embedding.positions";
    if (block.kind == PositionKind::kLearned) {
      std::int64_t rows = 0;
      op.positions = weights_.table(table, block.tensor, model_.hidden, false, &rows);
      if (op.positions != kAbsent && rows <= offset) {
        weights_.refuse({ModelErrc::kBadTensor, block.tensor.front() + ": of its " +
                                                    std::to_string(rows) + " rows " +
                                                    "embedding.positions.offset leaves none"});
      }
      program_.context = std::min(program_.context, rows - offset);
    } else if (block.kind == PositionKind::kSinusoidal) {
      program_.context = std::min(program_.context, kMaxTablePositions);
      op.positions = weights_.computed(
          table, sinusoidal_positions(program_.context + offset, model_.hidden, block.endpoint));
    }
  }

  /// What a sublayer reads: the stream, or the stream normalized.
  BufferId entry(const std::string& name, const ResidualBlock& block) {
    if (!block.norm_in.present) return stream_;
    const BufferId normed = buffer("h", model_.hidden);
    norm(name + ".norm_in", block.norm_in, model_.hidden, stream_, normed);
    return normed;
  }

  /// Where a sublayer's last op writes and what it adds, and what follows it.
  struct Exit {
    BufferId out = kAbsent;
    BufferId residual = kAbsent;
    float scale = 1;
  };

  Exit exit_of(const ResidualBlock& block, BufferId input) {
    if (block.norm_out.present) return {buffer("o", model_.hidden), kAbsent, 1};
    return {stream_, block.adds_normed_input ? input : stream_, block.scale};
  }

  void leave(const std::string& name, const ResidualBlock& block, const Exit& exit,
             BufferId input) {
    if (block.norm_out.present) {
      norm(name + ".norm_out", block.norm_out, model_.hidden, exit.out, stream_,
           block.adds_normed_input ? input : stream_, block.scale);
    }
    norm(name + ".norm_sum", block.norm_sum, model_.hidden, stream_, stream_);
  }

  Result<void> layer(const LayerBlock& layer) {
    const BufferId attention_in = entry(name("attention"), layer.attention_residual);
    BufferId mlp_in = attention_in;
    if (layer.parallel) {
      if (layer.mlp_residual.norm_in.present) mlp_in = entry(name("mlp"), layer.mlp_residual);
      if (mlp_in == stream_ || attention_in == stream_) {
        return Error{ModelErrc::kBadSpec, "parallel needs attention.norm_in"};
      }
    }
    attention(layer.attention, layer.attention_residual, attention_in);
    if (layer.has_cross) cross(layer.cross, layer.cross_residual);
    if (!layer.parallel) mlp_in = entry(name("mlp"), layer.mlp_residual);
    mlp(layer.mlp, layer.mlp_residual, mlp_in);
    return {};
  }

  HeadNormPlan head_norm(const std::string& what, const NormBlock& block,
                         const AttentionBlock& attention, std::int32_t heads) {
    HeadNormPlan plan;
    if (!block.present) return plan;
    plan.spec = {true, block.spec, attention.head_norm_scope};
    const bool shared = attention.head_norm_scope == HeadNormScope::kPerHead;
    const std::int64_t sets = shared ? 1 : heads;
    plan.weight = weights_.head_vectors(name(what) + ".weight", block.tensor, ".weight", sets,
                                        attention.shape.head_size, false);
    plan.bias = weights_.head_vectors(name(what) + ".bias", block.tensor, ".bias", sets,
                                      attention.shape.head_size, true);
    return plan;
  }

  RotaryOp rotary(const AttentionBlock& block, BufferId qkv) {
    RotaryOp op;
    op.qkv = qkv;
    op.shape = block.shape;
    op.spec = block.rotary_spec;
    op.query_norm = head_norm("attention.q_norm", block.query_norm, block, block.shape.heads);
    op.key_norm = head_norm("attention.k_norm", block.key_norm, block, block.shape.kv_heads);
    if (block.rotary != kAbsent) op.table = rotary_tables_[static_cast<std::size_t>(block.rotary)];
    op.group = group_;
    op.layer = cache_layer();
    return op;
  }

  // An encoder's layers use one cache layer after the other's use of it is over.
  [[nodiscard]] std::int32_t cache_layer() const {
    return group_ == KvGroup::kEncoder ? 0 : static_cast<std::int32_t>(layer_);
  }

  AttentionOp attention_op(const AttentionBlock& block, BufferId queries, BufferId out) {
    AttentionOp op;
    op.queries = queries;
    op.out = out;
    op.heads = block.shape.heads;
    op.group = group_;
    op.layer = cache_layer();
    op.spec = block.spec;
    op.spec.causal = stack_.causal;
    if (block.alibi) {
      op.alibi_slopes =
          weights_.computed(name("attention.alibi"), alibi_slopes(op.heads, block.alibi_scale));
    }
    op.sinks = weights_.vector(name("attention.sinks"), block.sinks, "", op.heads, false);
    if (!block.relative_bias.empty()) {
      std::int64_t buckets = 0;
      op.relative_bias = weights_.table(name("attention.relative_bias"), block.relative_bias,
                                        op.heads, true, &buckets);
      op.spec.relative_buckets =
          static_cast<std::int32_t>(std::min<std::int64_t>(buckets, kMaxRelativeBuckets + 1));
      op.spec.relative_bidirectional = !stack_.causal;
      check_relative(op, block);
    }
    return op;
  }

  // What RelativeBuckets of kernels/attention/relative_bias.h needs.
  void check_relative(const AttentionOp& op, const AttentionBlock& block) {
    if (op.relative_bias == kAbsent) return;
    const AttentionSpec& spec = op.spec;
    const std::int32_t side = spec.relative_buckets / (spec.relative_bidirectional ? 2 : 1);
    if (side >= 2 && spec.relative_buckets <= kMaxRelativeBuckets &&
        spec.relative_max_distance > side / 2) {
      return;
    }
    weights_.refuse({ModelErrc::kBadTensor, block.relative_bias.front() + ": " +
                                                std::to_string(spec.relative_buckets) +
                                                " buckets do not suit relative_bias.max_distance " +
                                                std::to_string(spec.relative_max_distance)});
  }

  void attention(const AttentionBlock& block, const ResidualBlock& residual, BufferId input) {
    auto& cache = group_ == KvGroup::kEncoder ? program_.encoder_kv : program_.self_kv;
    add_cache_layer(cache, block);
    const std::int64_t query_width = std::int64_t{block.shape.heads} * block.shape.head_size;
    const std::int64_t kv_width = std::int64_t{block.shape.kv_heads} * block.shape.head_size;
    const auto weight = weights_.qkv(name("attention.qkv"), block, model_.hidden, true, true);
    const BufferId qkv = buffer("qkv", query_width + 2 * kv_width);
    emit(plain(weight, input, qkv));
    emit(rotary(block, qkv));
    const BufferId mixed = buffer("a", query_width);
    emit(attention_op(block, qkv, mixed));
    gate_heads(block, input, mixed);
    norm(name("attention.norm_inner"), residual.norm_inner, query_width, mixed, mixed);
    project(name("attention"), block.out, query_width, residual, mixed, input);
  }

  void gate_heads(const AttentionBlock& block, BufferId input, BufferId mixed) {
    if (block.gate.tensor.empty()) return;
    const std::int64_t width =
        std::int64_t{block.shape.heads} * (block.gate_per_head ? 1 : block.shape.head_size);
    const BufferId gate = buffer("g", width);
    LinearOp op = plain(weights_.linear(name("attention.gate"), block.gate, width, model_.hidden),
                        input, gate);
    op.spec.activation = block.gate_activation;
    emit(op);
    emit(ScaleRowsOp{mixed, gate, kAbsent, mixed});
  }

  void cross(const AttentionBlock& block, const ResidualBlock& residual) {
    const BufferId input = entry(name("cross"), residual);
    program_.cross_kv.push_back({block.shape.kv_heads, block.shape.head_size});
    const std::int64_t query_width = std::int64_t{block.shape.heads} * block.shape.head_size;
    const auto weight = weights_.qkv(name("cross.q"), block, model_.hidden, true, false);
    const BufferId queries = buffer("q", query_width);
    emit(plain(weight, input, queries));
    const BufferId mixed = buffer("a", query_width);
    AttentionOp op = attention_op(block, queries, mixed);
    op.group = KvGroup::kCross;
    op.spec.causal = false;
    op.spec.window = 0;
    emit(op);
    project(name("cross"), block.out, query_width, residual, mixed, input);
  }

  void project(const std::string& what, const LinearBlock& block, std::int64_t width,
               const ResidualBlock& residual, BufferId in, BufferId entry) {
    const Exit exit = exit_of(residual, entry);
    const auto weight = weights_.linear(what + ".out", block, model_.hidden, width);
    LinearOp op = plain(weight, in, exit.out);
    op.residual = exit.residual;
    op.spec.scale = exit.scale;
    emit(op);
    leave(what, residual, exit, entry);
  }

  void add_cache_layer(std::vector<KvLayerPlan>& cache, const AttentionBlock& block) {
    const KvLayerPlan plan{block.shape.kv_heads, block.shape.head_size};
    if (group_ != KvGroup::kEncoder || cache.empty()) {
      cache.push_back(plan);
      return;
    }
    cache[0].kv_heads = std::max(cache[0].kv_heads, plan.kv_heads);
    cache[0].head_size = std::max(cache[0].head_size, plan.head_size);
  }

  static LinearOp plain(const WeightPlanner::Linear& weight, BufferId in, BufferId out) {
    LinearOp op;
    op.weight = weight.weight;
    op.bias = weight.bias;
    op.in = in;
    op.out = out;
    return op;
  }

  LinearOp up(const std::string& what, const MlpBlock& mlp, const GatedMlpBlock& block, BufferId in,
              BufferId out) {
    LinearOp op =
        plain(mlp.gated ? weights_.gated(what + ".gate_up", block, model_.hidden)
                        : weights_.linear(what + ".up", block.up, block.size, model_.hidden),
              in, out);
    op.spec = mlp.up;
    return op;
  }

  void mlp(const MlpBlock& block, const ResidualBlock& residual, BufferId input) {
    if (block.experts.count > 0) {
      experts(block, residual, input);
      return;
    }
    const BufferId inner = buffer("f", block.dense.size);
    emit(up(name("mlp"), block, block.dense, input, inner));
    norm(name("mlp.norm_inner"), residual.norm_inner, block.dense.size, inner, inner);
    const Exit exit = exit_of(residual, input);
    LinearOp down =
        plain(weights_.linear(name("mlp.down"), block.dense.down, model_.hidden, block.dense.size),
              inner, exit.out);
    down.residual = exit.residual;
    down.spec.scale = exit.scale;
    emit(down);
    leave(name("mlp"), residual, exit, input);
  }

  void experts(const MlpBlock& block, const ResidualBlock& residual, BufferId input) {
    const ExpertsBlock& routed = block.experts;
    program_.max_experts = std::max<std::int64_t>(program_.max_experts, routed.count);
    program_.max_chosen = std::max<std::int64_t>(program_.max_chosen, routed.route.chosen);
    const Exit exit = exit_of(residual, input);
    route(routed, input, exit.scale);
    const BufferId inner = buffer("f", block.dense.size, RowKind::kChoices, routed.route.chosen);
    const BufferId each = buffer("e", model_.hidden, RowKind::kChoices, routed.route.chosen);
    ExpertLinearOp first;
    first.gathers = true;
    first.spec = block.up;
    first.in = input;
    first.out = inner;
    ExpertLinearOp second;
    second.in = inner;
    second.out = each;
    for (int expert = 0; expert < routed.count; ++expert) {
      const std::string own = name("mlp.experts." + std::to_string(expert));
      add_expert(first, block.gated
                            ? weights_.gated(own + ".gate_up", block.dense, model_.hidden, expert)
                            : weights_.linear(own + ".up", block.dense.up, block.dense.size,
                                              model_.hidden, expert));
      add_expert(second, weights_.linear(own + ".down", block.dense.down, model_.hidden,
                                         block.dense.size, expert));
    }
    weights_.hold_alike(first.weights);
    weights_.hold_alike(second.weights);
    emit(first);
    emit(second);
    emit(CombineOp{routed.route.chosen, each, exit.residual, exit.out});
    if (routed.shared.size > 0) shared_expert(block, exit, input);
    leave(name("mlp"), residual, exit, input);
  }

  static void add_expert(ExpertLinearOp& op, const WeightPlanner::Linear& weight) {
    op.weights.push_back(weight.weight);
    op.biases.push_back(weight.bias);
  }

  void route(const ExpertsBlock& routed, BufferId input, float scale) {
    const BufferId scores = buffer("scores", routed.count);
    LinearOp score = plain(
        weights_.linear(name("mlp.router"), routed.router_tensor, routed.count, model_.hidden),
        input, scores);
    score.spec.soft_cap = routed.router_soft_cap;
    emit(score);
    RouteOp op;
    op.scores = scores;
    op.experts = routed.count;
    op.spec = routed.route;
    op.spec.scale *= scale;
    op.selection_bias =
        weights_.vector(name("mlp.selection_bias"), routed.selection_bias, "", routed.count, false);
    emit(op);
  }

  void shared_expert(const MlpBlock& block, const Exit& exit, BufferId input) {
    const GatedMlpBlock& shared = block.experts.shared;
    const BufferId inner = buffer("s", shared.size);
    emit(up(name("mlp.shared"), block, shared, input, inner));
    const auto weight =
        weights_.linear(name("mlp.shared.down"), shared.down, model_.hidden, shared.size);
    if (block.experts.shared_gate.tensor.empty()) {
      LinearOp down = plain(weight, inner, exit.out);
      down.residual = exit.out;
      down.spec.scale = exit.scale;
      emit(down);
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
    emit(plain(weight, inner, ungated));
    emit(ScaleRowsOp{ungated, gate, exit.out, exit.out});
  }

  const Architecture& model_;
  const StackBlock& stack_;
  std::string prefix_;
  KvGroup group_;
  Program& program_;
  OpList& list_;
  WeightPlanner& weights_;
  std::vector<std::int32_t> rotary_tables_;
  std::size_t layer_ = 0;
  BufferId stream_ = kAbsent;
};

// The decoder's cross attention reads keys and values that are made once, from the encoder's last
// hidden states.
void compile_cross_keys(const Architecture& model, Program& program, StackCompiler& encoder,
                        WeightPlanner& weights) {
  for (std::size_t layer = 0; layer < model.decoder.layers.size(); ++layer) {
    const LayerBlock& block = model.decoder.layers[layer];
    if (!block.has_cross) continue;
    const AttentionBlock& cross = block.cross;
    const auto weight = weights.qkv("decoder." + std::to_string(layer) + ".cross.kv", cross,
                                    model.hidden, false, true);
    const BufferId kv =
        encoder.buffer("kv", std::int64_t{2} * cross.shape.kv_heads * cross.shape.head_size);
    LinearOp linear;
    linear.weight = weight.weight;
    linear.bias = weight.bias;
    linear.in = encoder.stream();
    linear.out = kv;
    encoder.emit(linear);
    RotaryOp store;
    store.qkv = kv;
    store.shape = {0, cross.shape.kv_heads, cross.shape.head_size};
    store.group = KvGroup::kCross;
    store.layer = static_cast<std::int32_t>(layer);
    encoder.emit(store);
  }
  program.encode.result = encoder.stream();
}

void compile_head(const Architecture& model, Program& program, StackCompiler& decoder,
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
    decoder.norm("head.norm", head.projection_norm, width, in, in);
  }
  const LinearBlock tied{model.decoder.embedding.tensor, false};
  // Many files hold the tied head once more under its own name.
  if (head.tied) weights.pass_over(head.linear.tensor);
  const auto weight =
      weights.linear("head", head.tied ? tied : head.linear, model.vocabulary, width);
  LinearOp op;
  op.weight = weight.weight;
  op.bias = weight.bias;
  if (!head.bias.empty()) {
    op.bias = weights.vector("head.bias", head.bias, "", model.vocabulary, false);
  } else if (head.tied) {
    op.bias = weights.vector("head.bias", head.linear.tensor, ".bias", model.vocabulary, true);
  }
  op.spec = head.spec;
  op.in = in;
  op.out = decoder.buffer("logits", model.vocabulary, RowKind::kOutputs);
  decoder.emit(op);
  program.decode.result = op.out;
}

}  // namespace

Result<Program> compile(const Architecture& architecture, const Checkpoint& checkpoint) {
  Program program;
  program.family = architecture.family;
  program.vocabulary = architecture.vocabulary;
  program.hidden = architecture.hidden;
  program.context = architecture.context;
  program.end_tokens = architecture.end_tokens;
  program.start_token = architecture.start_token;
  program.has_encoder = architecture.encoder.has_value();
  program.has_logits = architecture.kind != ModelKind::kEncoder && architecture.head.present;
  WeightPlanner weights(architecture, checkpoint, program);
  if (architecture.encoder) {
    StackCompiler encoder(architecture, *architecture.encoder, "encoder.", KvGroup::kEncoder,
                          program, program.encode, weights);
    auto compiled = encoder.run();
    if (!compiled) return compiled.error();
    compile_cross_keys(architecture, program, encoder, weights);
  }
  const bool causal = architecture.decoder.causal;
  StackCompiler decoder(architecture, architecture.decoder, architecture.encoder ? "decoder." : "",
                        causal ? KvGroup::kSelf : KvGroup::kEncoder, program, program.decode,
                        weights);
  auto compiled = decoder.run();
  if (!compiled) return compiled.error();
  program.decode.result = decoder.stream();
  if (program.has_logits) compile_head(architecture, program, decoder, weights);
  auto complete = weights.result();
  if (!complete) return complete.error();
  program.parameters = weights.parameters();
  program.unused_tensors = weights.unused_tensors();
  plan_buffers(program.encode, program.buffers);
  plan_buffers(program.decode, program.buffers);
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
  std::int64_t numbers = 0;
  for (const KvLayerPlan& layer : self_kv) {
    numbers += std::int64_t{2} * layer.kv_heads * layer.head_size;
  }
  return bytes_of(dtype, numbers).value_or(0);
}

}  // namespace weft
