#include "weft/model/program/stack_compiler.h"

#include <algorithm>
#include <span>
#include <utility>

#include "weft/kernels/attention/relative_bias.h"
#include "weft/model/model_error.h"
#include "weft/model/program/position_tables.h"

namespace weft {
namespace {

// Computed position tables are float32: this bounds them to 1 GiB at a width of 4096.
constexpr std::int64_t kMaxTablePositions = 65536;

void reverse(RotaryFrequencies& frequencies) {
  for (float& frequency : frequencies.frequency) frequency = -frequency;
  for (float& frequency : frequencies.long_frequency) frequency = -frequency;
}

}  // namespace

Result<void> StackCompiler::run(const Extent& layers) {
  first_layer_ = static_cast<std::size_t>(layers.first);
  for (const RotaryBlock& block : stack_.rotary) {
    auto frequencies = rotary_frequencies(block.size, block.theta, block.scaling, model_.context,
                                          model_.trained_context);
    if (!frequencies) return frequencies.error();
    if (block.reversed) reverse(*frequencies);
    program_.context = std::max(program_.context, frequencies->context);
    const auto found = std::ranges::find(program_.rotary, *frequencies);
    rotary_tables_.push_back(static_cast<RotaryId>(found - program_.rotary.begin()));
    if (found == program_.rotary.end()) program_.rotary.push_back(std::move(*frequencies));
  }
  if (first_layer_ > 0) {
    receive();
  } else {
    stream_ = buffer("x", model_.hidden);
    embed();
  }
  embed_for_layers();
  const auto end = static_cast<std::size_t>(layers.end());
  for (layer_ = first_layer_; layer_ < end; ++layer_) {
    auto compiled = layer(stack_.layers[layer_]);
    if (!compiled) return compiled;
  }
  if (end == stack_.layers.size()) {
    norm(prefix_ + "final_norm", stack_.final_norm, model_.hidden, stream_, stream_);
  } else {
    emit(SendOp{stream_});
  }
  return {};
}

BufferId StackCompiler::buffer(std::string_view name, std::int64_t width, RowKind rows,
                               std::int64_t rows_per_token) {
  program_.buffers.push_back({prefix_ + std::string(name), rows, width, rows_per_token, 0});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

/// Normalizes `in` into `out`; nothing when the block is not there.
void StackCompiler::norm(const std::string& name, const NormBlock& block, std::int64_t width,
                         BufferId in, BufferId out, BufferId residual, float scale,
                         float sum_scale) {
  if (!block.present) return;
  NormOp op;
  op.spec = block.spec;
  op.weight = weights_.vector(name + ".weight", block.tensor, ".weight", width, false);
  op.bias = weights_.vector(name + ".bias", block.tensor, ".bias", width, !block.has_bias);
  op.scale = scale;
  op.sum_scale = sum_scale;
  op.in = in;
  op.residual = residual;
  op.out = out;
  emit(op);
}

void StackCompiler::embed() {
  const EmbeddingBlock& block = stack_.embedding;
  EmbedOp op;
  op.table.tensor = weights_.embedding(block.tensor, model_.vocabulary, block.size);
  const auto rows = share_of(model_.vocabulary, 1, program_.part);
  op.table.rows = rows.value_or(Extent{0, model_.vocabulary});
  const bool is_part = program_.part.ranks > 1 && rows;
  op.spec = block.spec;
  types(op, block);
  const bool projects = !block.projection.tensor.empty();
  const bool apart = projects || block.token_norm.present;
  op.out = apart ? buffer("e", block.size) : stream_;
  positions(op);
  if (is_part && !is_first_rank()) {
    // The first rank's to add; where the token has a way of its own, each rank's.
    op.constant = kAbsent;
    if (!apart) op.positions = kAbsent;
  }
  if (apart) {
    embed_apart(op, block, projects, is_part);
  } else {
    emit(op);
    if (is_part) sum_up(stream_);
  }
  norm(prefix_ + "embedding.norm", block.norm, model_.hidden, stream_, stream_);
}

// The stream changes in place, so that what it began with is looked up once more, in each stage.
void StackCompiler::embed_for_layers() {
  const bool wants = std::ranges::any_of(
      stack_.layers, [](const LayerBlock& layer) { return layer.input.size > 0; });
  if (!wants) return;
  const EmbeddingBlock& block = stack_.embedding;
  const bool is_table = block.projection.tensor.empty() && !block.token_norm.present &&
                        !block.norm.present && block.types.empty() &&
                        block.positions.kind == PositionKind::kNone;
  if (!is_table) {
    weights_.refuse({ModelErrc::kBadSpec, "layer_input needs an embedding that is a table alone"});
  }
  EmbedOp op;
  op.table.tensor = weights_.embedding(block.tensor, model_.vocabulary, block.size);
  const auto rows = share_of(model_.vocabulary, 1, program_.part);
  op.table.rows = rows.value_or(Extent{0, model_.vocabulary});
  op.spec = block.spec;
  op.out = embedded_ = buffer("embedded", model_.hidden);
  emit(op);
  if (program_.part.ranks > 1 && rows) sum_up(embedded_);
}

// Positions are as wide as the stream and have no norm of their own: they are added to what a
// projection or a norm makes of the token.
void StackCompiler::embed_apart(EmbedOp op, const EmbeddingBlock& block, bool projects,
                                bool is_part) {
  EmbedOp placed = op;
  placed.table = {};
  placed.constant = kAbsent;
  placed.out = stream_;
  op.positions = kAbsent;
  emit(op);
  if (is_part) sum_up(op.out);
  const BufferId residual = placed.positions == kAbsent ? BufferId() : stream_;
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

// A request's first text has type 0 and its second type 1; more types are of no use.
void StackCompiler::types(EmbedOp& op, const EmbeddingBlock& block) {
  if (block.types.empty()) return;
  std::int64_t rows = 0;
  op.constant = weights_.table(prefix_ + "embedding.types", block.types, block.size, false, &rows);
  op.constant_rows = std::max<std::int64_t>(rows, 1);
}

void StackCompiler::positions(EmbedOp& op) {
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
BufferId StackCompiler::entry(const std::string& name, const ResidualBlock& block) {
  if (!block.norm_in.present) return stream_;
  const BufferId normed = buffer("h", model_.hidden);
  norm(name + ".norm_in", block.norm_in, model_.hidden, stream_, normed);
  return normed;
}

StackCompiler::Exit StackCompiler::exit_of(const ResidualBlock& block, BufferId input,
                                           bool is_part) {
  if (block.norm_out.present) return {buffer("o", model_.hidden), kAbsent, 1, is_part};
  Exit exit{stream_, block.adds_normed_input ? input : stream_, block.scale, is_part};
  if (is_part && !is_first_rank() && !stream_is_part_) exit.residual = kAbsent;
  return exit;
}

void StackCompiler::leave(const std::string& name, const ResidualBlock& block, const Exit& exit,
                          BufferId input) {
  if (exit.is_part && sums_later_) {
    stream_is_part_ = true;
  } else if (exit.is_part) {
    sum_up(exit.out);
    stream_is_part_ = false;
  }
  if (block.norm_out.present) {
    norm(name + ".norm_out", block.norm_out, model_.hidden, exit.out, stream_,
         block.adds_normed_input ? input : stream_, block.scale, block.sum_scale);
  }
  norm(name + ".norm_sum", block.norm_sum, model_.hidden, stream_, stream_);
}

Result<void> StackCompiler::layer(const LayerBlock& layer) {
  const BufferId attention_in = entry(name("attention"), layer.attention_residual);
  BufferId mlp_in = attention_in;
  if (layer.parallel) {
    if (layer.mlp_residual.norm_in.present) mlp_in = entry(name("mlp"), layer.mlp_residual);
    if (mlp_in == stream_ || attention_in == stream_) {
      return Error{ModelErrc::kBadSpec, "parallel needs attention.norm_in"};
    }
  }
  sums_later_ = sums_once(layer);
  attention(layer.attention, layer.attention_residual, attention_in);
  sums_later_ = false;
  if (layer.has_cross) cross(layer.cross, layer.cross_residual);
  if (!layer.parallel) mlp_in = entry(name("mlp"), layer.mlp_residual);
  mlp(layer.mlp, layer.mlp_residual, mlp_in);
  if (layer.input.size > 0) layer_input(layer.input);
  return {};
}

bool StackCompiler::sums_once(const LayerBlock& layer) {
  const ResidualBlock& first = layer.attention_residual;
  const ResidualBlock& second = layer.mlp_residual;
  return layer.parallel && !layer.has_cross && !first.norm_out.present && !first.norm_sum.present &&
         !second.norm_out.present && !second.adds_normed_input && share(layer.attention, first) &&
         share(layer.mlp, second);
}

std::optional<HeadShare> StackCompiler::share(const AttentionBlock& block,
                                              const ResidualBlock& residual) {
  const bool norms_all =
      block.head_norm_scope == HeadNormScope::kAllHeads &&
      (block.query_norm.present || block.key_norm.present || block.value_norm.present);
  if (program_.part.ranks == 1 || norms_all || residual.norm_inner.present) return std::nullopt;
  return share_heads(block.shape, weights_.input_grain(block.out), program_.part);
}

HeadShare heads_of(const AttentionBlock& block, const std::optional<HeadShare>& share) {
  return share.value_or(HeadShare{{0, block.shape.heads}, {0, block.shape.kv_heads}});
}

KeptPart kept_of(const AttentionBlock& block, const std::optional<HeadShare>& share, bool queries,
                 bool keys_and_values) {
  KeptPart kept;
  if (!share) return kept;
  const std::int64_t size = block.shape.head_size;
  std::int64_t first = 0;
  const auto keep = [&](const Extent& heads, std::int64_t all) {
    kept.outputs.push_back({first + heads.first * size, heads.count * size});
    first += all * size;
  };
  if (queries) keep(share->heads, block.shape.heads);
  if (keys_and_values) {
    keep(share->kv_heads, block.shape.kv_heads);
    keep(share->kv_heads, block.shape.kv_heads);
  }
  return kept;
}

HeadNormPlan StackCompiler::head_norm(const std::string& what, const NormBlock& block,
                                      const AttentionBlock& attention, std::int32_t heads,
                                      const Extent& kept) {
  HeadNormPlan plan;
  if (!block.present) return plan;
  plan.spec = {true, block.spec, attention.head_norm_scope};
  const std::int64_t size = attention.shape.head_size;
  const bool shared = attention.head_norm_scope == HeadNormScope::kPerHead;
  const std::int64_t sets = shared ? 1 : heads;
  plan.weight =
      weights_.head_vectors(name(what) + ".weight", block.tensor, ".weight", sets, size, false);
  plan.bias = weights_.head_vectors(name(what) + ".bias", block.tensor, ".bias", sets, size,
                                    !block.has_bias);
  if (shared) return plan;
  weights_.keep(plan.weight, {kept.first * size, kept.count * size});
  weights_.keep(plan.bias, {kept.first * size, kept.count * size});
  return plan;
}

RotaryOp StackCompiler::rotary(const AttentionBlock& block, const HeadShare& heads, BufferId qkv) {
  RotaryOp op;
  op.qkv = qkv;
  op.shape = {static_cast<std::int32_t>(heads.heads.count),
              static_cast<std::int32_t>(heads.kv_heads.count), block.shape.head_size};
  op.spec = block.rotary_spec;
  op.query_norm =
      head_norm("attention.q_norm", block.query_norm, block, block.shape.heads, heads.heads);
  op.stores = block.kv_from < 0;
  if (op.stores) {
    op.key_norm =
        head_norm("attention.k_norm", block.key_norm, block, block.shape.kv_heads, heads.kv_heads);
    op.value_norm = head_norm("attention.v_norm", block.value_norm, block, block.shape.kv_heads,
                              heads.kv_heads);
  } else {
    op.shape.kv_heads = 0;
  }
  if (block.rotary != kAbsent) op.table = rotary_tables_[static_cast<std::size_t>(block.rotary)];
  op.group = group_;
  op.layer = cache_layer();
  return op;
}

// An encoder's layers use one cache layer after the other's use of it is over.
std::int32_t StackCompiler::cache_layer() const { return cache_layers_[layer_ - first_layer_]; }

// Where the layer's keys and values stand: at a new place, or where another layer's do.
std::int32_t StackCompiler::cache_of(const AttentionBlock& block, const KvLayerPlan& plan) {
  auto& cache = group_ == KvGroup::kEncoder ? program_.encoder_kv : program_.self_kv;
  if (block.kv_from < 0) {
    add_cache_layer(cache, plan);
    return static_cast<std::int32_t>(cache.size()) - 1;
  }
  const auto from = static_cast<std::size_t>(block.kv_from);
  const std::string which = "layer " + std::to_string(layer_) +
                            " reads the keys and values of layer " + std::to_string(from);
  if (from < first_layer_) {
    weights_.refuse({ModelErrc::kBadConfig, which + ", which another stage has"});
    return 0;
  }
  const std::int32_t place = cache_layers_[from - first_layer_];
  if (cache[static_cast<std::size_t>(place)].kv_heads != plan.kv_heads) {
    weights_.refuse({ModelErrc::kBadConfig, which + ", whose heads ranks share in another way"});
  }
  return place;
}

AttentionOp StackCompiler::attention_op(const AttentionBlock& block, const Extent& heads,
                                        BufferId queries, BufferId out) {
  const std::int32_t all = block.shape.heads;
  AttentionOp op;
  op.queries = queries;
  op.out = out;
  op.heads = static_cast<std::int32_t>(heads.count);
  op.group = group_;
  op.layer = cache_layer();
  op.spec = block.spec;
  op.spec.causal = stack_.causal;
  if (block.alibi) {
    op.alibi_slopes =
        weights_.computed(name("attention.alibi"), alibi_slopes(all, block.alibi_scale));
    weights_.keep(op.alibi_slopes, heads);
  }
  op.sinks = weights_.vector(name("attention.sinks"), block.sinks, "", all, false);
  weights_.keep(op.sinks, heads);
  if (!block.relative_bias.empty()) {
    std::int64_t buckets = 0;
    op.relative_bias =
        weights_.table(name("attention.relative_bias"), block.relative_bias, all, true, &buckets);
    weights_.keep(op.relative_bias, {heads.first * buckets, heads.count * buckets});
    op.spec.relative_buckets =
        static_cast<std::int32_t>(std::min<std::int64_t>(buckets, kMaxRelativeBuckets + 1));
    op.spec.relative_bidirectional = !stack_.causal;
    check_relative(op, block);
  }
  return op;
}

// What RelativeBuckets of kernels/attention/relative_bias.h needs.
void StackCompiler::check_relative(const AttentionOp& op, const AttentionBlock& block) {
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

void StackCompiler::attention(const AttentionBlock& block, const ResidualBlock& residual,
                              BufferId input) {
  const auto shared = share(block, residual);
  const HeadShare heads = heads_of(block, shared);
  const std::int64_t size = block.shape.head_size;
  const bool own_kv = block.kv_from < 0;
  cache_layers_.push_back(
      cache_of(block, {static_cast<std::int32_t>(heads.kv_heads.count), block.shape.head_size}));
  const std::int64_t query_width = heads.heads.count * size;
  const std::int64_t kv_width = own_kv ? heads.kv_heads.count * size : 0;
  const auto weight = weights_.qkv(name("attention.qkv"), block, model_.hidden, true, own_kv,
                                   kept_of(block, shared, true, own_kv));
  if (!own_kv) {
    // Some files have what the layer would make of its own.
    weights_.pass_over(block.qkv.key.tensor);
    weights_.pass_over(block.qkv.value.tensor);
    weights_.pass_over(block.key_norm.tensor);
  }
  const BufferId qkv = buffer("qkv", query_width + 2 * kv_width);
  emit(plain(weight, input, qkv));
  emit(rotary(block, heads, qkv));
  const BufferId mixed = buffer("a", query_width);
  emit(attention_op(block, heads.heads, qkv, mixed));
  gate_heads(block, heads.heads, input, mixed);
  norm(name("attention.norm_inner"), residual.norm_inner, query_width, mixed, mixed);
  project(name("attention"), block, shared, residual, mixed, input);
}

void StackCompiler::gate_heads(const AttentionBlock& block, const Extent& heads, BufferId input,
                               BufferId mixed) {
  if (block.gate.tensor.empty()) return;
  const std::int64_t size = block.gate_per_head ? 1 : block.shape.head_size;
  const BufferId gate = buffer("g", heads.count * size);
  KeptPart kept;
  kept.outputs = {{heads.first * size, heads.count * size}};
  LinearOp op = plain(weights_.linear(name("attention.gate"), block.gate, block.shape.heads * size,
                                      model_.hidden, kAbsent, kept),
                      input, gate);
  op.spec.activation = block.gate_activation;
  emit(op);
  emit(ScaleRowsOp{mixed, gate, kAbsent, mixed});
}

void StackCompiler::cross(const AttentionBlock& block, const ResidualBlock& residual) {
  const BufferId input = entry(name("cross"), residual);
  const auto shared = share(block, residual);
  const HeadShare heads = heads_of(block, shared);
  program_.cross_kv.push_back(
      {static_cast<std::int32_t>(heads.kv_heads.count), block.shape.head_size});
  const std::int64_t query_width = heads.heads.count * block.shape.head_size;
  const auto weight = weights_.qkv(name("cross.q"), block, model_.hidden, true, false,
                                   kept_of(block, shared, true, false));
  const BufferId queries = buffer("q", query_width);
  emit(plain(weight, input, queries));
  const BufferId mixed = buffer("a", query_width);
  AttentionOp op = attention_op(block, heads.heads, queries, mixed);
  op.group = KvGroup::kCross;
  op.layer = static_cast<std::int32_t>(layer_ - first_layer_);
  op.spec.causal = false;
  op.spec.window = 0;
  emit(op);
  project(name("cross"), block, shared, residual, mixed, input);
}

void StackCompiler::project(const std::string& what, const AttentionBlock& block,
                            const std::optional<HeadShare>& shared, const ResidualBlock& residual,
                            BufferId in, BufferId entry) {
  const std::int64_t size = block.shape.head_size;
  const Exit exit = exit_of(residual, entry, shared.has_value());
  KeptPart kept;
  if (shared) {
    kept.inputs = Extent{shared->heads.first * size, shared->heads.count * size};
    kept.bias = is_first_rank();
  }
  const auto weight = weights_.linear(what + ".out", block.out, model_.hidden,
                                      block.shape.heads * size, kAbsent, kept);
  LinearOp op = plain(weight, in, exit.out);
  op.residual = exit.residual;
  op.spec.scale = exit.scale;
  emit(op);
  leave(what, residual, exit, entry);
}

void StackCompiler::add_cache_layer(std::vector<KvLayerPlan>& cache, const KvLayerPlan& plan) {
  if (group_ != KvGroup::kEncoder || cache.empty()) {
    cache.push_back(plan);
    return;
  }
  cache[0].kv_heads = std::max(cache[0].kv_heads, plan.kv_heads);
  cache[0].head_size = std::max(cache[0].head_size, plan.head_size);
}

LinearOp StackCompiler::plain(const WeightPlanner::Linear& weight, BufferId in, BufferId out) {
  LinearOp op;
  op.weight = weight.weight;
  op.bias = weight.bias;
  op.in = in;
  op.out = out;
  return op;
}

void StackCompiler::receive() {
  stream_ = buffer("x", model_.hidden);
  emit(ReceiveOp{stream_});
}

}  // namespace weft
