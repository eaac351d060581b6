#include "weft/model/spec/architecture.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "weft/kernels/experts/experts.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/activation_names.h"
#include "weft/model/spec/gguf_spec.h"
#include "weft/model/spec/spec.h"
#include "weft/model/spec/spec_values.h"
#include "weft/model/spec/tensor_names.h"

namespace weft {
namespace {

namespace json = boost::json;

// Bounds far above any existing model; products of these numbers fit 64 bits.
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxHeads = 1024;
constexpr std::int64_t kMaxHeadSize = 1024;
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;
constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 24;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 30;
constexpr double kAny = std::numeric_limits<double>::max();

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

class Resolver {
 public:
  Resolver(SpecScope& scope, const json::object& tree) : scope_(scope), top_(scope, &tree, "") {}

  Architecture run(const std::string& family) {
    Architecture model;
    model.family = family;
    define_variables();
    check_requirements();
    transposed_ = top_.flag("transposed", false);
    model.kind = top_.choice<ModelKind>("kind", {{"decoder", ModelKind::kDecoder},
                                                 {"encoder", ModelKind::kEncoder},
                                                 {"encoder-decoder", ModelKind::kEncoderDecoder}});
    model.vocabulary = top_.integer("vocabulary", {}, 1, kMaxVocabulary);
    hidden_ = model.hidden = top_.integer("hidden", {}, 1, kMaxWidth);
    model.context = top_.integer("context", {}, 1, kMaxContext);
    model.trained_context = top_.integer("trained_context", model.context, 1, kMaxContext);
    scope_.set("hidden", model.hidden);
    has_encoder_ = model.kind == ModelKind::kEncoderDecoder;
    model.end_tokens = end_tokens(model.vocabulary);
    model.start_token = top_.integer("start_token", -1, -1, kMaxVocabulary);
    model.optional_prefixes = top_.texts("optional_prefixes");
    model.ignored_tensors = top_.texts("ignored_tensors");
    add_stacks(model);
    model.head = head(encodes(model));
    model.pooling = pooling(encodes(model));
    model.scores = scores(encodes(model));
    return model;
  }

 private:
  void define_variables() {
    scope_.set_prefixes(top_.texts("optional_prefixes"));
    set_variables(top_.table("let"));
  }

  void set_variables(const SpecTableReader& let) {
    if (!let.present()) return;
    for (const auto& [name, unused] : *let.fields()) scope_.set(name, let.value(name));
  }

  // Refuses a config that requires a feature that no block has: without it the model would give
  // wrong results.
  void check_requirements() {
    const json::value* list = top_.fields()->if_contains("requires");
    if (list == nullptr) return;
    for (const json::value& item :
         list->get_array()) {  // Spec::parse has checked that they are expressions
      const json::value met = scope_.evaluate(item, "requires");
      if (met.is_bool() && met.get_bool()) continue;
      const std::string text(item.get_string());
      const auto expression = Expression::parse(std::string_view(text).substr(1));
      scope_.fail({ModelErrc::kBadConfig, "requires " + text + ": this model has " +
                                              expression->names_with_values(scope_)});
    }
  }

  // A missing end token would let a model write to the end of its context.
  std::vector<std::int64_t> end_tokens(std::int64_t vocabulary) {
    const json::value found = top_.value("end_tokens");
    if (found.is_null()) return {};
    std::vector<std::int64_t> ids;
    const auto add = [&](const json::value& id) {
      const std::int64_t* const number = id.if_int64();
      if (number == nullptr) {
        top_.fail("end_tokens", json::serialize(found) + " where token ids are needed");
      } else if (*number < 0 || *number >= vocabulary) {
        top_.fail("end_tokens", std::to_string(*number) + " is not in the vocabulary of " +
                                    std::to_string(vocabulary));
      } else {
        ids.push_back(*number);
      }
    };
    if (const json::array* list = found.if_array()) {
      std::ranges::for_each(*list, add);
    } else {
      add(found);
    }
    return ids;
  }

  void add_stacks(Architecture& model) {
    scope_.set("stack", "decoder");
    model.decoder = stack(*top_.fields(), "", !encodes(model));
    if (!has_encoder_) return;
    const SpecTableReader over = top_.table("encoder");
    json::object tree =
        over.present() ? merge_tables(*top_.fields(), *over.fields()) : *top_.fields();
    tree.erase("cross");
    scope_.set("stack", "encoder");
    model.encoder = stack(tree, "encoder", false);
  }

  StackBlock stack(const json::object& tree, const std::string& path, bool causal) {
    const SpecTableReader reader(scope_, &tree, path);
    StackBlock stack;
    norm_defaults_ = reader.table("norm").fields();
    stack.causal = reader.flag("causal", causal);
    stack.embedding = embedding(reader.table("embedding"));
    const std::int64_t layers = reader.integer("layers", {}, 1, kMaxLayers);
    for (std::int64_t layer = 0; layer < layers && !scope_.error(); ++layer) {
      scope_.set("layer", layer);
      layer_ = std::to_string(layer);
      set_variables(reader.table("each_layer"));
      stack.layers.push_back(this->layer(reader, stack));
    }
    layer_.clear();
    if (!scope_.error() && std::ranges::all_of(stack.layers, [](const LayerBlock& layer) {
          return layer.attention() == nullptr;
        })) {
      reader.fail("attention", "is present in no layer");
    }
    stack.final_norm = norm(reader, "final_norm");
    return stack;
  }

  LayerBlock layer(const SpecTableReader& reader, StackBlock& stack) {
    LayerBlock layer;
    layer.parallel = reader.flag("parallel", false);
    if (const SpecTableReader own = reader.table("attention"); own.flag("present", true)) {
      layer.mixer = attention(own, stack);
      layer.mixer_residual = residual(own);
    }
    if (layer.parallel && layer.attention() == nullptr) {
      reader.fail("parallel", "needs attention, which is not present");
    }
    if (has_encoder_ && reader.has("cross") && reader.table("cross").flag("present", true)) {
      layer.has_cross = true;
      layer.cross = attention(reader.table("cross"), stack);
      layer.cross_residual = residual(reader.table("cross"));
    }
    layer.mlp = mlp(reader.table("mlp"));
    layer.mlp_residual = residual(reader.table("mlp"));
    layer.input = layer_input(reader.table("layer_input"));
    return layer;
  }

  /// Returns a tensor's names from a key of the table, with the layer's number put in.
  TensorNames names(const SpecTableReader& reader, std::string_view key) {
    TensorNames names = reader.texts(key);
    for (std::string& name : names) replace_all(name, "{layer}", layer_);
    return names;
  }

  LinearBlock linear(const SpecTableReader& reader, std::string_view key) {
    const SpecTableReader own = reader.table(key);
    if (!own.present()) return {names(reader, key), transposed_};
    return {names(own, "tensor"), own.flag("transposed", transposed_)};
  }

  NormBlock norm(const SpecTableReader& reader, std::string_view key) {
    NormBlock norm;
    if (!reader.has(key)) return norm;
    const SpecTableReader own = reader.table(key);
    json::object fields = norm_defaults_ == nullptr ? json::object() : *norm_defaults_;
    if (own.present()) {
      fields = merge_tables(fields, *own.fields());
    } else {
      fields["tensor"] = *reader.fields()->if_contains(key);
    }
    const SpecTableReader merged(scope_, &fields, own.path());
    norm.present = merged.flag("present", true);
    if (!norm.present) return norm;
    norm.spec.kind =
        merged.choice<NormKind>("kind", {{"rms", NormKind::kRms}, {"layer", NormKind::kLayer}});
    norm.spec.eps = static_cast<float>(merged.number("eps", {}, 0, 1));
    norm.spec.weight_offset = static_cast<float>(merged.number("weight_offset", 0, -kAny, kAny));
    norm.tensor = names(merged, "tensor");
    norm.has_bias = merged.flag("has_bias", false);
    return norm;
  }

  ResidualBlock residual(const SpecTableReader& reader) {
    ResidualBlock residual;
    residual.norm_in = norm(reader, "norm_in");
    residual.norm_out = norm(reader, "norm_out");
    residual.norm_sum = norm(reader, "norm_sum");
    residual.norm_inner = norm(reader, "norm_inner");
    residual.scale = static_cast<float>(reader.number("residual_scale", 1, -kAny, kAny));
    residual.sum_scale = static_cast<float>(reader.number("sum_scale", 1, -kAny, kAny));
    residual.adds_normed_input = reader.flag("adds_normed_input", false);
    if (residual.sum_scale != 1 && !residual.norm_out.present) {
      reader.fail("sum_scale", "needs norm_out");
    }
    return residual;
  }

  LayerInputBlock layer_input(const SpecTableReader& reader) {
    LayerInputBlock block;
    if (!reader.present()) return block;
    block.size = reader.integer("size", {}, 0, kMaxWidth);
    if (block.size == 0) return block;
    block.tensor = names(reader, "tensor");
    block.spec.scale = static_cast<float>(reader.number("table_scale", 1, -kAny, kAny));
    block.projection = linear(reader, "projection");
    block.projection_scale = static_cast<float>(reader.number("projection_scale", 1, -kAny, kAny));
    block.norm = norm(reader, "norm");
    if (!block.norm.present) reader.fail("norm", "is missing");
    block.scale = static_cast<float>(reader.number("scale", 1, -kAny, kAny));
    block.gate = linear(reader, "gate");
    block.activation = activation_of(reader);
    block.out = linear(reader, "out");
    block.residual = residual(reader);
    return block;
  }

  EmbeddingBlock embedding(const SpecTableReader& reader) {
    EmbeddingBlock block;
    block.tensor = names(reader, "tensor");
    if (block.tensor.empty()) reader.fail("tensor", "is missing");
    block.size = reader.integer("size", hidden_, 1, kMaxWidth);
    block.projection = linear(reader, "projection");
    if (block.projection.tensor.empty() && block.size != hidden_) {
      reader.fail("size", std::to_string(block.size) +
                              " needs a projection to hidden = " + std::to_string(hidden_));
    }
    block.spec.scale = static_cast<float>(reader.number("scale", 1, -kAny, kAny));
    block.types = names(reader, "types");
    block.token_norm = norm(reader, "token_norm");
    block.norm = norm(reader, "norm");
    const SpecTableReader positions = reader.table("positions");
    block.positions.kind =
        positions.choice<PositionKind>("kind", {{"none", PositionKind::kNone},
                                                {"learned", PositionKind::kLearned},
                                                {"sinusoidal", PositionKind::kSinusoidal}});
    block.positions.tensor = names(positions, "tensor");
    block.positions.endpoint = positions.flag("endpoint", true);
    block.spec.position_offset = positions.integer("offset", 0, 0, kMaxContext);
    return block;
  }

  AttentionBlock attention(const SpecTableReader& reader, StackBlock& stack) {
    AttentionBlock block;
    const auto heads = reader.integer("heads", {}, 1, kMaxHeads);
    const auto kv_heads = reader.integer("kv_heads", heads, 1, kMaxHeads);
    const auto head_size = reader.integer("head_size", hidden_ / heads, 1, kMaxHeadSize);
    if (heads % kv_heads != 0) {
      reader.fail("kv_heads", std::to_string(heads) + " heads cannot share " +
                                  std::to_string(kv_heads) + " KV heads evenly");
    }
    if (!reader.has("head_size") && hidden_ % heads != 0) {
      reader.fail("heads", std::to_string(hidden_) + " is no multiple of " + std::to_string(heads));
    }
    block.shape = {static_cast<std::int32_t>(heads), static_cast<std::int32_t>(kv_heads),
                   static_cast<std::int32_t>(head_size)};
    scope_.set("heads", heads);
    scope_.set("head_size", head_size);
    const double standard_scale = 1.0 / std::sqrt(static_cast<double>(head_size));
    block.spec.scale = static_cast<float>(reader.number("scale", standard_scale, 0, kAny));
    block.spec.soft_cap = static_cast<float>(reader.number("soft_cap", 0, 0, kAny));
    block.rotary_spec.clip = static_cast<float>(reader.number("clip", 0, 0, kAny));
    block.spec.window = static_cast<std::int32_t>(reader.integer("window", 0, 0, kMaxContext));
    block.spec.chunk = static_cast<std::int32_t>(reader.integer("chunk", 0, 0, kMaxContext));
    block.qkv = qkv(reader);
    block.out = linear(reader, "out");
    block.gate = linear(reader, "gate");
    const SpecTableReader gate = reader.table("gate");
    block.gate_per_head = gate.flag("per_head", false);
    if (gate.has("activation")) block.gate_activation = activation_of(gate);
    block.alibi = reader.flag("alibi", false);
    block.alibi_scale = static_cast<float>(reader.number("alibi_scale", 1, 0, kAny));
    block.sinks = names(reader, "sinks");
    const SpecTableReader relative = reader.table("relative_bias");
    block.relative_bias = names(relative, "tensor");
    block.spec.relative_max_distance =
        static_cast<std::int32_t>(relative.integer("max_distance", 128, 2, kMaxContext));
    head_norms(reader, block);
    rotary(reader.table("rotary"), block, stack);
    if (!reader.flag("own_kv", true)) block.kv_from = layer_like(reader, block, stack);
    return block;
  }

  /// Returns the last earlier layer whose keys and values this layer can read.
  static std::int32_t layer_like(const SpecTableReader& reader, const AttentionBlock& block,
                                 const StackBlock& stack) {
    for (std::size_t i = stack.layers.size(); i-- > 0;) {
      const AttentionBlock* other = stack.layers[i].attention();
      if (other != nullptr && other->kv_from < 0 && other->spec.window == block.spec.window &&
          other->spec.chunk == block.spec.chunk && other->shape.kv_heads == block.shape.kv_heads &&
          other->shape.head_size == block.shape.head_size) {
        return static_cast<std::int32_t>(i);
      }
    }
    reader.fail("own_kv", "no layer before has keys and values of this kind");
    return -1;
  }

  void head_norms(const SpecTableReader& reader, AttentionBlock& block) {
    block.query_norm = norm(reader, "q_norm");
    block.key_norm = norm(reader, "k_norm");
    block.value_norm = norm(reader, "v_norm");
    block.rotary_spec.norm_after_rotary = reader.flag("norm_after_rotary", false);
    block.rotary_spec.query_growth =
        static_cast<float>(reader.number("query_growth", 0, -kAny, kAny));
    block.rotary_spec.query_growth_step =
        static_cast<std::int32_t>(reader.integer("query_growth_step", 0, 0, kMaxContext));
    block.head_norm_scope =
        reader.choice<HeadNormScope>("head_norm_scope", {{"head", HeadNormScope::kPerHead},
                                                         {"each_head", HeadNormScope::kEachHead},
                                                         {"all_heads", HeadNormScope::kAllHeads}});
  }

  QkvBlock qkv(const SpecTableReader& reader) {
    QkvBlock block;
    block.query = linear(reader, "q");
    block.key = linear(reader, "k");
    block.value = linear(reader, "v");
    block.fused = linear(reader, "qkv");
    const SpecTableReader own = reader.table("qkv");
    block.groups = own.integer("groups", 1, 1, kMaxHeads);
    block.order = own.text("order", "qkv");
    std::string sorted = block.order;
    std::ranges::sort(sorted);
    if (sorted != "kqv") own.fail("order", "'" + block.order + "' is no order of q, k and v");
    return block;
  }

  void rotary(const SpecTableReader& reader, AttentionBlock& block, StackBlock& stack) {
    if (!reader.present() || !reader.flag("enabled", true)) return;
    RotaryBlock rotary;
    rotary.size = static_cast<std::int32_t>(
        reader.integer("size", block.shape.head_size, 2, block.shape.head_size));
    if (rotary.size % 2 != 0) reader.fail("size", std::to_string(rotary.size) + " is not even");
    rotary.theta = reader.number("theta", 10000.0, 1e-6, kAny);
    rotary.scaling = scaling(reader);
    rotary.reversed = reader.flag("reversed", false);
    block.rotary_spec.rotary_size = rotary.size;
    block.rotary_spec.style = reader.choice<RotaryStyle>(
        "style", {{"halves", RotaryStyle::kHalves}, {"interleaved", RotaryStyle::kInterleaved}});
    const auto found = std::ranges::find(stack.rotary, rotary);
    block.rotary = static_cast<std::int32_t>(found - stack.rotary.begin());
    if (found == stack.rotary.end()) stack.rotary.push_back(std::move(rotary));
  }

  static json::value scaling(const SpecTableReader& reader) {
    const SpecTableReader own = reader.table("scaling");
    if (!own.present()) return reader.value("scaling");
    json::object fields;
    for (const auto& [key, unused] : *own.fields()) {
      json::value field = own.value(key);
      if (!field.is_null()) fields[key] = std::move(field);
    }
    return fields;
  }

  GatedMlpBlock dense(const SpecTableReader& reader, std::optional<std::int64_t> size) {
    GatedMlpBlock block;
    block.size = reader.integer("size", size, 0, kMaxWidth);
    block.gate = linear(reader, "gate");
    block.up = linear(reader, "up");
    block.down = linear(reader, "down");
    block.fused = linear(reader, "gate_up");
    const SpecTableReader own = reader.table("gate_up");
    block.interleaved = own.flag("interleaved", false);
    block.up_first = own.flag("up_first", false);
    return block;
  }

  MlpBlock mlp(const SpecTableReader& reader) {
    MlpBlock block;
    block.gated = reader.flag("gated", true);
    block.up.activation = activation_of(reader);
    block.up.gate_limit = static_cast<float>(reader.number("gate_limit", 0, 0, kAny));
    block.up.up_offset = static_cast<float>(reader.number("up_offset", 0, -kAny, kAny));
    block.up.gate_alpha = static_cast<float>(reader.number("gate_alpha", 0, 0, kAny));
    if (const SpecTableReader learned = reader.table("xielu"); learned.present()) {
      block.up.activation = Activation::kXielu;
      block.up.xielu = xielu(learned);
    }
    const SpecTableReader routed = reader.table("experts");
    if (!routed.present() || !routed.flag("enabled", true)) {
      block.dense = dense(reader, {});
      if (block.dense.size == 0) reader.fail("size", "must not be 0");
      return block;
    }
    block.experts = experts(routed);
    block.dense = dense(routed, {});
    if (block.dense.size == 0) routed.fail("size", "must not be 0");
    return block;
  }

  // The learned parameters pass through softplus, which makes them positive.
  static XieluSpec xielu(const SpecTableReader& reader) {
    const auto softplus = [](double x) {
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    };
    const double slope = reader.number("beta", 0.5, -kAny, kAny);
    return {
        .positive = static_cast<float>(softplus(reader.number("alpha_p", {}, -kAny, kAny))),
        .negative = static_cast<float>(slope + softplus(reader.number("alpha_n", {}, -kAny, kAny))),
        .slope = static_cast<float>(slope),
        .bound = static_cast<float>(reader.number("eps", -1e-6, -kAny, 0))};
  }

  ExpertsBlock experts(const SpecTableReader& reader) {
    ExpertsBlock block;
    const auto count = reader.integer("count", {}, 1, kMaxExperts);
    block.count = static_cast<std::int32_t>(count);
    RouteSpec& route = block.route;
    route.chosen = static_cast<std::int32_t>(reader.integer("chosen", {}, 1, count));
    route.kind =
        reader.choice<RouterKind>("router", {{"softmax_then_top_k", RouterKind::kSoftmaxThenTopK},
                                             {"top_k_then_softmax", RouterKind::kTopKThenSoftmax},
                                             {"sparse_mixer", RouterKind::kSoftmaxOfClose},
                                             {"sigmoid", RouterKind::kSigmoid}});
    route.margin = static_cast<float>(reader.number("margin", 0, 0, kAny));
    route.normalize = reader.flag("normalize", false);
    route.scale = static_cast<float>(reader.number("scale", 1, -kAny, kAny));
    route.groups = static_cast<std::int32_t>(reader.integer("groups", 1, 1, count));
    route.chosen_groups =
        static_cast<std::int32_t>(reader.integer("chosen_groups", route.groups, 1, route.groups));
    if (block.count % route.groups != 0) {
      reader.fail("groups", std::to_string(block.count) + " experts are no whole groups");
    }
    const std::int32_t group_size = block.count / route.groups;
    route.group_best = static_cast<std::int32_t>(reader.integer("group_best", 1, 1, group_size));
    if (route.chosen > group_size * route.chosen_groups) {
      reader.fail("chosen", "more than the chosen groups have");
    }
    block.router_tensor = linear(reader, "router_tensor");
    block.router_scale = static_cast<float>(reader.number("router_scale", 1, -kAny, kAny));
    block.router_soft_cap = static_cast<float>(reader.number("router_soft_cap", 0, 0, kAny));
    block.selection_bias = names(reader, "selection_bias");
    block.weight_scales = names(reader, "weight_scales");
    block.router_norm = norm(reader, "router_norm");
    block.norm_in = norm(reader, "norm_in");
    block.norm_out = norm(reader, "norm_out");
    const SpecTableReader shared = reader.table("shared");
    if (shared.present()) block.shared = dense(shared, {});
    block.shared_gate = linear(shared, "gate_tensor");
    block.shared_norm_out = norm(shared, "norm_out");
    if (block.norm_out.present != block.shared_norm_out.present) {
      reader.fail("norm_out", "needs shared.norm_out, and that needs it");
    }
    return block;
  }

  static bool encodes(const Architecture& model) { return model.kind == ModelKind::kEncoder; }

  static PoolingKind pooling_kind(const SpecTableReader& reader, PoolingKind otherwise) {
    using enum PoolingKind;
    if (!reader.has("kind")) return otherwise;
    return reader.choice<PoolingKind>("kind", {{"cls", kCls},
                                               {"mean", kMean},
                                               {"last", kLast},
                                               {"max", kMax},
                                               {"mean_sqrt", kMeanSqrt},
                                               {"weighted_mean", kWeightedMean}});
  }

  PoolingBlock pooling(bool encodes) {
    const SpecTableReader reader = top_.table("pooling");
    return {pooling_kind(reader, encodes ? PoolingKind::kMean : PoolingKind::kLast),
            reader.flag("normalize", true)};
  }

  /// Decoders have one layer on the last token, "score", unless the spec says more.
  ScoresBlock scores(bool encodes) {
    const SpecTableReader reader = top_.table("scores");
    ScoresBlock block;
    block.pooling = pooling_kind(reader, encodes ? PoolingKind::kCls : PoolingKind::kLast);
    block.dense = names(reader, "dense");
    if (reader.has("activation")) block.activation = activation_of(reader);
    block.norm = norm(reader, "norm");
    block.tensor = names(reader, "tensor");
    if (block.tensor.empty()) block.tensor = {encodes ? "classifier" : "score"};
    return block;
  }

  HeadBlock head(bool encodes) {
    HeadBlock block;
    const SpecTableReader reader = top_.table("head");
    block.present = reader.flag("present", reader.present() || !encodes);
    block.tied = reader.flag("tied", false);
    block.normalized = reader.flag("normalized", false);
    if (block.tied && block.normalized) reader.fail("normalized", "is not for a tied head");
    block.linear = reader.has("tensor") ? LinearBlock{names(reader, "tensor"),
                                                      reader.flag("transposed", transposed_)}
                                        : LinearBlock{};
    block.bias = names(reader, "bias");
    block.projection = linear(reader, "projection");
    if (reader.has("activation")) block.projection_activation = activation_of(reader);
    block.projection_norm = norm(reader, "norm");
    block.spec.scale = static_cast<float>(reader.number("scale", 1, -kAny, kAny));
    block.spec.soft_cap = static_cast<float>(reader.number("soft_cap", 0, 0, kAny));
    return block;
  }

  SpecScope& scope_;
  SpecTableReader top_;
  const json::object* norm_defaults_ = nullptr;
  bool transposed_ = false;
  bool has_encoder_ = false;
  std::int64_t hidden_ = 1;
  std::string layer_;
};

std::string_view first_architecture(const Checkpoint& checkpoint) {
  const json::value* const list = checkpoint.config().get_object().if_contains("architectures");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) return {};
  const json::string* const name = list->get_array().front().if_string();
  return name == nullptr ? std::string_view() : std::string_view(name->data(), name->size());
}

/// Whether a model was saved without its head ("Qwen3Model", but not "GPT2LMHeadModel"), and does
/// not share the head with the embedding.
bool is_headless(const Architecture& model, const Checkpoint& checkpoint) {
  const std::string_view name = first_architecture(checkpoint);
  if (!name.ends_with("Model") || name.ends_with("LMHeadModel") || model.head.tied) return false;
  return std::ranges::none_of(model.head.linear.tensor, [&](const std::string& tensor) {
    return find_tensor(checkpoint, tensor + ".weight", model.optional_prefixes) != nullptr;
  });
}

std::string config_file(const Checkpoint& checkpoint) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(checkpoint.path(), ignored);
  return (folder ? checkpoint.path() / "config.json" : checkpoint.path()).string();
}

}  // namespace

bool scores_labels(const Checkpoint& checkpoint) {
  return first_architecture(checkpoint).ends_with("ForSequenceClassification");
}

Architecture resolve_tree(SpecScope& scope, const json::object& tree, const std::string& family) {
  const auto& config = scope.checkpoint().config().get_object();
  if (const json::value* root = tree.if_contains("config_root");
      root != nullptr && root->is_string()) {
    if (const json::value* nested = config.if_contains(root->get_string())) {
      scope.set_root(nested->if_object());
    }
  }
  return Resolver(scope, tree).run(family);
}

Result<Architecture> resolve_architecture(const Spec& spec, const Checkpoint& checkpoint) {
  SpecScope scope(checkpoint);
  json::object tree = spec.tree();
  if (checkpoint.format() == CheckpointFormat::kGguf) tree = apply_gguf(spec, scope);
  Architecture model = resolve_tree(scope, tree, spec.name());
  model.read_tensors = scope.tensors_read();
  if (scores_labels(checkpoint) || is_headless(model, checkpoint)) model.head.present = false;
  if (scope.error()) {
    Error error = *scope.error();
    error.detail = config_file(checkpoint) + " read by " + spec.file() + ": " + error.detail;
    return error;
  }
  return model;
}

}  // namespace weft
