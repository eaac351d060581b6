#include "weft/model/program/attention_compiler.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/kernels/attention/relative_bias.h"
#include "weft/model/model_error.h"
#include "weft/model/program/position_tables.h"

namespace weft {
namespace {

void reverse(RotaryFrequencies& frequencies) {
  for (float& frequency : frequencies.frequency) frequency = -frequency;
  for (float& frequency : frequencies.long_frequency) frequency = -frequency;
}

}  // namespace

Result<void> AttentionCompiler::plan_rotary() {
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
  return {};
}

std::optional<HeadShare> share_of(const StackWriter& out, const AttentionBlock& block,
                                  const ResidualBlock& residual) {
  const ProgramPart& part = out.program().part;
  const bool norms_all =
      block.head_norm_scope == HeadNormScope::kAllHeads &&
      (block.query_norm.present || block.key_norm.present || block.value_norm.present);
  if (part.ranks == 1 || norms_all || residual.norm_inner.present) return std::nullopt;
  return share_heads(block.shape, out.weights().input_grain(block.out), part);
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

HeadNormPlan AttentionCompiler::head_norm(std::string_view what, const NormBlock& block,
                                          const AttentionBlock& attention, std::int32_t heads,
                                          const Extent& kept) {
  HeadNormPlan plan;
  if (!block.present) return plan;
  plan.spec = {true, block.spec, attention.head_norm_scope};
  const std::int64_t size = attention.shape.head_size;
  const bool shared = attention.head_norm_scope == HeadNormScope::kPerHead;
  const std::int64_t sets = shared ? 1 : heads;
  plan.weight = weights_.head_vectors(out_.of_layer(what) + ".weight", block.tensor, ".weight",
                                      sets, size, false);
  plan.bias = weights_.head_vectors(out_.of_layer(what) + ".bias", block.tensor, ".bias", sets,
                                    size, !block.has_bias);
  if (shared) return plan;
  weights_.keep(plan.weight, {kept.first * size, kept.count * size});
  weights_.keep(plan.bias, {kept.first * size, kept.count * size});
  return plan;
}

RotaryOp AttentionCompiler::rotary(const AttentionBlock& block, const HeadShare& heads,
                                   BufferId qkv) {
  RotaryOp op;
  op.qkv = {qkv, out_.next(qkv)};
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
  op.group = out_.group();
  op.layer = cache_layer();
  return op;
}

// The encoder's layers share one cache layer: each layer uses it after the previous layer.
std::int32_t AttentionCompiler::cache_layer() const {
  return cache_layers_[out_.layer() - out_.first_layer()];
}

// Returns the cache layer of the layer's keys and values: a new one, or another layer's.
std::int32_t AttentionCompiler::cache_of(const AttentionBlock& block, const KvLayerPlan& plan) {
  auto& cache = out_.group() == KvGroup::kEncoder ? program_.encoder_kv : program_.self_kv;
  if (block.kv_from < 0) {
    add_cache_layer(cache, plan);
    return static_cast<std::int32_t>(cache.size()) - 1;
  }
  const auto from = static_cast<std::size_t>(block.kv_from);
  const std::string which = "layer " + std::to_string(out_.layer()) +
                            " reads the keys and values of layer " + std::to_string(from);
  if (from < out_.first_layer()) {
    weights_.refuse({ModelErrc::kBadConfig, which + ", which another stage has"});
    return 0;
  }
  const std::int32_t place = cache_layers_[from - out_.first_layer()];
  if (cache[static_cast<std::size_t>(place)].kv_heads != plan.kv_heads) {
    weights_.refuse({ModelErrc::kBadConfig, which + ", whose heads ranks share in another way"});
  }
  return place;
}

AttentionOp AttentionCompiler::attention_op(const AttentionBlock& block, const Extent& heads,
                                            BufferId queries, BufferId out) {
  const std::int32_t all = block.shape.heads;
  AttentionOp op;
  op.queries = queries;
  op.out = out;
  op.heads = static_cast<std::int32_t>(heads.count);
  op.group = out_.group();
  op.layer = cache_layer();
  op.spec = block.spec;
  op.spec.causal = stack_.causal;
  if (block.alibi) {
    op.alibi_slopes =
        weights_.computed(out_.of_layer("attention.alibi"), alibi_slopes(all, block.alibi_scale));
    weights_.keep(op.alibi_slopes, heads);
  }
  op.sinks = weights_.vector(out_.of_layer("attention.sinks"), block.sinks, "", all, false);
  weights_.keep(op.sinks, heads);
  if (!block.relative_bias.empty()) {
    std::int64_t buckets = 0;
    op.relative_bias = weights_.table(out_.of_layer("attention.relative_bias"), block.relative_bias,
                                      all, true, &buckets);
    weights_.keep(op.relative_bias, {heads.first * buckets, heads.count * buckets});
    op.spec.relative_buckets =
        static_cast<std::int32_t>(std::min<std::int64_t>(buckets, kMaxRelativeBuckets + 1));
    op.spec.relative_bidirectional = !stack_.causal;
    check_relative(op, block);
  }
  return op;
}

// Checks the requirements of RelativeBuckets (kernels/attention/relative_bias.h).
void AttentionCompiler::check_relative(const AttentionOp& op, const AttentionBlock& block) {
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

void AttentionCompiler::attend(const AttentionBlock& block, const ResidualBlock& residual,
                               BufferId input) {
  const auto shared = share_of(out_, block, residual);
  const HeadShare heads = heads_of(block, shared);
  const std::int64_t size = block.shape.head_size;
  const bool own_kv = block.kv_from < 0;
  cache_layers_.push_back(
      cache_of(block, {static_cast<std::int32_t>(heads.kv_heads.count), block.shape.head_size}));
  const std::int64_t query_width = heads.heads.count * size;
  const std::int64_t kv_width = own_kv ? heads.kv_heads.count * size : 0;
  const auto weight = weights_.qkv(out_.of_layer("attention.qkv"), block, model_.hidden, true,
                                   own_kv, kept_of(block, shared, true, own_kv));
  if (!own_kv) {
    // Some files hold tensors of keys and values that the layer does not use.
    weights_.pass_over(block.qkv.key.tensor);
    weights_.pass_over(block.qkv.value.tensor);
    weights_.pass_over(block.key_norm.tensor);
  }
  const BufferId qkv = out_.buffer("qkv", query_width + 2 * kv_width);
  out_.emit(StackWriter::plain(weight, input, qkv));
  const RotaryOp turned = rotary(block, heads, qkv);
  out_.emit(turned);
  BufferId mixed = out_.buffer("a", query_width);
  out_.emit(attention_op(block, heads.heads, turned.qkv.after, mixed));
  mixed = gate_heads(block, heads.heads, input, mixed);
  mixed =
      out_.normed(out_.of_layer("attention.norm_inner"), residual.norm_inner, query_width, mixed);
  const SublayerExit exit = out_.exit(residual, input, shared.has_value());
  project("attention", block, shared, exit, mixed);
  out_.leave("attention", residual, exit, input);
}

BufferId AttentionCompiler::gate_heads(const AttentionBlock& block, const Extent& heads,
                                       BufferId input, BufferId mixed) {
  if (block.gate.tensor.empty()) return mixed;
  const std::int64_t size = block.gate_per_head ? 1 : block.shape.head_size;
  const BufferId gate = out_.buffer("g", heads.count * size);
  KeptPart kept;
  kept.outputs = {{heads.first * size, heads.count * size}};
  LinearOp op =
      StackWriter::plain(weights_.linear(out_.of_layer("attention.gate"), block.gate,
                                         block.shape.heads * size, model_.hidden, kAbsent, kept),
                         input, gate);
  op.spec.activation = block.gate_activation;
  out_.emit(op);
  const BufferId gated = out_.next(mixed);
  out_.emit(ScaleRowsOp{mixed, gate, kAbsent, gated});
  return gated;
}

void AttentionCompiler::attend_to_encoder(const AttentionBlock& block,
                                          const ResidualBlock& residual) {
  const BufferId input = out_.entry("cross", residual);
  const auto shared = share_of(out_, block, residual);
  const HeadShare heads = heads_of(block, shared);
  program_.cross_kv.push_back(
      {static_cast<std::int32_t>(heads.kv_heads.count), block.shape.head_size});
  const std::int64_t query_width = heads.heads.count * block.shape.head_size;
  const auto weight = weights_.qkv(out_.of_layer("cross.q"), block, model_.hidden, true, false,
                                   kept_of(block, shared, true, false));
  const BufferId queries = out_.buffer("q", query_width);
  out_.emit(StackWriter::plain(weight, input, queries));
  const BufferId mixed = out_.buffer("a", query_width);
  AttentionOp op = attention_op(block, heads.heads, queries, mixed);
  op.group = KvGroup::kCross;
  op.layer = static_cast<std::int32_t>(out_.layer() - out_.first_layer());
  op.spec.causal = false;
  op.spec.window = 0;
  out_.emit(op);
  const SublayerExit exit = out_.exit(residual, input, shared.has_value());
  project("cross", block, shared, exit, mixed);
  out_.leave("cross", residual, exit, input);
}

void AttentionCompiler::project(std::string_view what, const AttentionBlock& block,
                                const std::optional<HeadShare>& shared, const SublayerExit& exit,
                                BufferId in) {
  const std::int64_t size = block.shape.head_size;
  KeptPart kept;
  if (shared) {
    kept.inputs = Extent{shared->heads.first * size, shared->heads.count * size};
    kept.bias = out_.is_first_rank();
  }
  const auto weight = weights_.linear(out_.of_layer(what) + ".out", block.out, model_.hidden,
                                      block.shape.heads * size, kAbsent, kept);
  LinearOp op = StackWriter::plain(weight, in, exit.out);
  op.residual = exit.residual;
  op.spec.scale = exit.scale;
  out_.emit(op);
}

void AttentionCompiler::add_cache_layer(std::vector<KvLayerPlan>& cache, const KvLayerPlan& plan) {
  if (out_.group() != KvGroup::kEncoder || cache.empty()) {
    cache.push_back(plan);
    return;
  }
  cache[0].kv_heads = std::max(cache[0].kv_heads, plan.kv_heads);
  cache[0].head_size = std::max(cache[0].head_size, plan.head_size);
}

}  // namespace weft
