#include "weft/model/convert/gguf_blocks.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string_view>
#include <variant>

namespace weft {
namespace {

namespace json = boost::json;

/// make_gguf_model() refuses layers without attention.
const AttentionBlock& attention_in(const LayerBlock& layer) {
  return std::get<AttentionBlock>(layer.mixer);
}

bool has_window(const LayerBlock& layer) { return attention_in(layer).spec.window > 0; }

bool turns(const LayerBlock& layer) { return attention_in(layer).rotary >= 0; }

json::value norm_of(const StackBlock& stack) {
  const LayerBlock& layer = stack.layers.front();
  for (const NormBlock* norm : {&stack.final_norm, &layer.mixer_residual.norm_in,
                                &layer.mixer_residual.norm_sum, &layer.mixer_residual.norm_out}) {
    if (!norm->present) continue;
    return json::object{{"kind", norm->spec.kind == NormKind::kRms ? "rms" : "layer"},
                        {"eps", norm->spec.eps}};
  }
  return nullptr;
}

json::value rotary_of(const StackBlock& stack, const LayerBlock* layer) {
  if (layer == nullptr) return nullptr;
  const RotaryBlock& rotary = stack.rotary[static_cast<std::size_t>(attention_in(*layer).rotary)];
  return json::object{{"size", rotary.size}, {"theta", rotary.theta}, {"scaling", rotary.scaling}};
}

const LayerBlock* first_layer(const StackBlock& stack,
                              const std::function<bool(const LayerBlock&)>& wanted) {
  const auto found = std::ranges::find_if(stack.layers, wanted);
  return found == stack.layers.end() ? nullptr : &*found;
}

/// Adds the angles of layers without a window as "rotary", and the angles of the others as
/// "window_rotary" if they differ.
void add_rotary(const StackBlock& stack, json::object& model) {
  const LayerBlock* open =
      first_layer(stack, [](const auto& layer) { return turns(layer) && !has_window(layer); });
  const LayerBlock* slides =
      first_layer(stack, [](const auto& layer) { return turns(layer) && has_window(layer); });
  model["rotary"] = rotary_of(stack, open == nullptr ? slides : open);
  model["window_rotary"] = nullptr;
  if (open != nullptr && slides != nullptr &&
      attention_in(*open).rotary != attention_in(*slides).rotary)
    model["window_rotary"] = rotary_of(stack, slides);
}

json::object attention_of(const StackBlock& stack, const LayerBlock& layer) {
  const AttentionBlock& block = attention_in(layer);
  const auto standard = static_cast<float>(1.0 / std::sqrt(double{1} * block.shape.head_size));
  return {{"heads", block.shape.heads},
          {"kv_heads", block.shape.kv_heads},
          {"head_size", block.shape.head_size},
          {"scale", block.spec.scale},
          {"standard_scale", block.spec.scale == standard},
          {"soft_cap", block.spec.soft_cap},
          {"clip", block.rotary_spec.clip},
          {"window", block.spec.window},
          {"query_growth", block.rotary_spec.query_growth},
          {"turns", turns(layer)},
          {"alibi", block.alibi},
          {"causal", stack.causal}};
}

std::string_view router_name(RouterKind kind) {
  switch (kind) {
    case RouterKind::kSoftmaxThenTopK:
      return "softmax_then_top_k";
    case RouterKind::kTopKThenSoftmax:
      return "top_k_then_softmax";
    case RouterKind::kSoftmaxOfClose:
      return "sparse_mixer";
    case RouterKind::kSigmoid:
      break;
  }
  return "sigmoid";
}

json::value experts_of(const MlpBlock& mlp) {
  if (mlp.experts.count == 0) return nullptr;
  const RouteSpec& route = mlp.experts.route;
  return json::object{{"count", mlp.experts.count},
                      {"chosen", route.chosen},
                      {"size", mlp.dense.size},
                      {"shared_size", mlp.experts.shared.size},
                      {"router", router_name(route.kind)},
                      {"normalize", route.normalize},
                      {"scale", route.scale},
                      {"groups", route.groups},
                      {"chosen_groups", route.chosen_groups}};
}

void add_sizes(const StackBlock& stack, json::object& model) {
  const auto is_dense = [](const LayerBlock& layer) { return layer.mlp.experts.count == 0; };
  const LayerBlock* dense = first_layer(stack, is_dense);
  model["dense_size"] = dense == nullptr ? json::value() : json::value(dense->mlp.dense.size);
  const auto routed = std::ranges::find_if_not(stack.layers, is_dense);
  model["dense_before"] = routed == stack.layers.end() ? 0 : routed - stack.layers.begin();
  model["all_turn"] = std::ranges::all_of(stack.layers, turns);
  model["has_windows"] = first_layer(stack, has_window) != nullptr;
}

}  // namespace

std::vector<json::object> gguf_blocks(const Architecture& model) {
  const StackBlock& stack = model.decoder;
  json::object whole = {{"vocabulary", model.vocabulary},
                        {"hidden", model.hidden},
                        {"context", model.context},
                        {"trained_context", model.trained_context},
                        {"layers", stack.layers.size()},
                        {"norm", norm_of(stack)},
                        {"embedding", json::object{{"scale", stack.embedding.spec.scale}}},
                        {"head", json::object{{"scale", model.head.spec.scale},
                                              {"soft_cap", model.head.spec.soft_cap}}}};
  whole["encoder_layers"] =
      model.encoder ? json::value(model.encoder->layers.size()) : json::value();
  whole["start_token"] = model.start_token < 0 ? json::value() : json::value(model.start_token);
  add_rotary(stack, whole);
  add_sizes(stack, whole);
  std::vector<json::object> layers;
  for (const LayerBlock& layer : stack.layers) {
    json::object& own = layers.emplace_back(whole);
    own["attention"] = attention_of(stack, layer);
    own["experts"] = experts_of(layer.mlp);
    own["parallel"] = layer.parallel;
    own["residual_scale"] = layer.mixer_residual.scale;
  }
  return layers;
}

}  // namespace weft
