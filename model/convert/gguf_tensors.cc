#include "weft/model/convert/gguf_tensors.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "weft/model/model_error.h"
#include "weft/model/spec/tensor_names.h"

namespace weft {
namespace {

/// A found tensor, and the name under which it was found.
struct FoundTensor {
  const CheckpointTensor* tensor = nullptr;
  std::size_t name = 0;
  std::string spelled = {};  ///< that name, with its marks for experts and heads
};

constexpr std::string_view kExpertMark = "{expert}";
constexpr std::string_view kHeadMark = "{head}";

std::string with_number(std::string name, std::string_view mark, int number) {
  const std::size_t at = name.find(mark);
  if (at != std::string::npos) name.replace(at, mark.size(), std::to_string(number));
  return name;
}

class TensorLister {
 public:
  TensorLister(const Architecture& model, const Checkpoint& checkpoint)
      : model_(model), checkpoint_(checkpoint) {}

  Result<std::vector<GgufTensor>> list(const Architecture& names) {
    if (model_.encoder && names.encoder) stack(*model_.encoder, *names.encoder);
    stack(model_.decoder, names.decoder);
    head(names.head);
    if (error_) return *error_;
    return std::move(tensors_);
  }

 private:
  // --- One tensor.

  [[nodiscard]] std::optional<FoundTensor> find(const TensorNames& names,
                                                std::string_view suffix) const {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string& name = names[i];
      for (const std::string& spelled :
           {name + std::string(suffix), suffix == ".bias" ? name + "_bias" : name}) {
        const auto* found = find_one(spelled, 0, 0);
        if (found != nullptr) return FoundTensor{found, i, spelled};
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] const CheckpointTensor* find_one(const std::string& spelled, int expert,
                                                 int head) const {
    const std::string name =
        with_number(with_number(spelled, kExpertMark, expert), kHeadMark, head);
    return find_tensor(checkpoint_, name, model_.optional_prefixes);
  }

  /// Returns the tensors of all experts and heads.
  [[nodiscard]] std::vector<std::string> sources_of(const FoundTensor& found) const {
    std::vector<std::string> sources;
    const bool has_experts = found.spelled.find(kExpertMark) != std::string::npos;
    const bool has_heads = found.spelled.find(kHeadMark) != std::string::npos;
    for (int expert = 0; expert == 0 || has_experts; ++expert) {
      if (find_one(found.spelled, expert, 0) == nullptr) break;
      for (int head = 0; head == 0 || has_heads; ++head) {
        const auto* tensor = find_one(found.spelled, expert, head);
        if (tensor == nullptr) break;
        sources.push_back(tensor->name);
      }
    }
    return sources;
  }

  void add(const TensorNames& own, const TensorNames& names, std::string_view suffix,
           std::string_view written_suffix, std::vector<std::int64_t> shape, bool is_f32) {
    const auto found = find(own, suffix);
    if (!found) return;  // a bias, or a tensor that the program reports as missing
    if (names.empty()) {
      fail(found->tensor->name);
      return;
    }
    std::string name = names[std::min(found->name, names.size() - 1)];
    name += written_suffix;
    if (std::ranges::find(tensors_, name, &GgufTensor::name) == tensors_.end())
      tensors_.push_back({std::move(name), std::move(shape), is_f32, sources_of(*found)});
  }

  void fail(const std::string& tensor) {
    if (error_) return;
    error_ =
        Error{ModelErrc::kUnsupportedFormat, checkpoint_.path().string() + ": tensor '" + tensor +
                                                 "' has no name in GGUF files of this family"};
  }

  void linear(const LinearBlock& own, const LinearBlock& names, std::int64_t outputs,
              std::int64_t inputs, bool is_f32 = false, std::int64_t experts = 0) {
    std::vector<std::int64_t> shape = {outputs, inputs};
    std::vector<std::int64_t> bias = {outputs};
    if (experts > 0) {
      shape.insert(shape.begin(), experts);
      bias.insert(bias.begin(), experts);
    } else if (outputs == 1) {
      shape.erase(shape.begin());  // GGUF leaves it out
    }
    add(own.tensor, names.tensor, ".weight", ".weight", std::move(shape), is_f32);
    add(own.tensor, names.tensor, ".bias", ".bias", std::move(bias), true);
  }

  void norm(const NormBlock& own, const NormBlock& names, const std::vector<std::int64_t>& shape) {
    if (!own.present) return;
    add(own.tensor, names.tensor, ".weight", ".weight", shape, true);
    add(own.tensor, names.tensor, ".bias", ".bias", shape, true);
  }

  /// Adds a vector or table by its full name.
  void whole(const TensorNames& own, const TensorNames& names, std::vector<std::int64_t> shape) {
    add(own, names, "", "", std::move(shape), true);
  }

  // --- The blocks.

  void stack(const StackBlock& own, const StackBlock& names) {
    embedding(own.embedding, names.embedding);
    for (std::size_t i = 0; i < own.layers.size() && i < names.layers.size(); ++i) {
      layer(own.layers[i], names.layers[i]);
    }
    norm(own.final_norm, names.final_norm, {model_.hidden});
  }

  void embedding(const EmbeddingBlock& own, const EmbeddingBlock& names) {
    add(own.tensor, names.tensor, ".weight", ".weight", {model_.vocabulary, own.size}, false);
    linear(own.projection, names.projection, model_.hidden, own.size);
    if (const auto types = find(own.types, ".weight")) {
      add(own.types, names.types, ".weight", ".weight", types->tensor->shape, true);
    }
    if (const auto found = find(own.positions.tensor, ".weight");
        found && own.positions.kind == PositionKind::kLearned) {
      // The rows before position 0 are dropped.
      std::vector<std::int64_t> shape = found->tensor->shape;
      if (!shape.empty()) shape[0] -= own.spec.position_offset;
      add(own.positions.tensor, names.positions.tensor, ".weight", ".weight", std::move(shape),
          true);
    }
    norm(own.token_norm, names.token_norm, {own.size});
    norm(own.norm, names.norm, {model_.hidden});
  }

  void layer(const LayerBlock& own, const LayerBlock& names) {
    // make_gguf_model() refuses layers without attention.
    const auto& mixer = std::get<AttentionBlock>(own.mixer);
    attention(mixer, std::get<AttentionBlock>(names.mixer));
    residual(own.mixer_residual, names.mixer_residual,
             std::int64_t{mixer.shape.heads} * mixer.shape.head_size);
    if (own.has_cross) {
      attention(own.cross, names.cross);
      residual(own.cross_residual, names.cross_residual,
               std::int64_t{own.cross.shape.heads} * own.cross.shape.head_size);
    }
    mlp(own.mlp, names.mlp);
    residual(own.mlp_residual, names.mlp_residual, own.mlp.dense.size);
    layer_input(own.input, names.input);
  }

  void layer_input(const LayerInputBlock& own, const LayerInputBlock& names) {
    if (own.size == 0) return;
    const std::int64_t width = static_cast<std::int64_t>(model_.decoder.layers.size()) * own.size;
    add(own.tensor, names.tensor, ".weight", ".weight", {model_.vocabulary, width}, false);
    linear(own.projection, names.projection, width, model_.hidden);
    norm(own.norm, names.norm, {own.size});
    linear(own.gate, names.gate, own.size, model_.hidden);
    linear(own.out, names.out, model_.hidden, own.size);
    residual(own.residual, names.residual, own.size);
  }

  void residual(const ResidualBlock& own, const ResidualBlock& names, std::int64_t inner) {
    norm(own.norm_in, names.norm_in, {model_.hidden});
    norm(own.norm_out, names.norm_out, {model_.hidden});
    norm(own.norm_sum, names.norm_sum, {model_.hidden});
    norm(own.norm_inner, names.norm_inner, {inner});
  }

  void attention(const AttentionBlock& own, const AttentionBlock& names) {
    const std::int64_t size = own.shape.head_size;
    const std::int64_t queries = own.shape.heads * size;
    const std::int64_t keys = own.shape.kv_heads * size;
    const QkvBlock& qkv = own.qkv;
    if (!qkv.fused.tensor.empty()) {
      linear(qkv.fused, names.qkv.fused, queries + 2 * keys, model_.hidden);
    } else {
      linear(qkv.query, names.qkv.query, queries, model_.hidden);
      if (own.kv_from < 0) linear(qkv.key, names.qkv.key, keys, model_.hidden);
      // If values are the keys' numbers, a file has them once.
      const bool is_key = qkv.value.tensor == qkv.key.tensor;
      if (own.kv_from < 0 && !is_key) linear(qkv.value, names.qkv.value, keys, model_.hidden);
    }
    linear(own.out, names.out, model_.hidden, queries);
    linear(own.gate, names.gate, own.gate_per_head ? own.shape.heads : queries, model_.hidden);
    head_norm(own, own.query_norm, names.query_norm, own.shape.heads);
    if (own.kv_from < 0) {
      head_norm(own, own.key_norm, names.key_norm, own.shape.kv_heads);
      head_norm(own, own.value_norm, names.value_norm, own.shape.kv_heads);
    }
    whole(own.sinks, names.sinks, {own.shape.heads});
    if (const auto bias = find(own.relative_bias, ".weight")) {
      add(own.relative_bias, names.relative_bias, ".weight", ".weight", bias->tensor->shape, true);
    }
  }

  void head_norm(const AttentionBlock& block, const NormBlock& own, const NormBlock& names,
                 std::int64_t heads) {
    const std::int64_t size = block.shape.head_size;
    switch (block.head_norm_scope) {
      case HeadNormScope::kPerHead:
        return norm(own, names, {size});
      case HeadNormScope::kEachHead:
        return norm(own, names, {heads, size});
      case HeadNormScope::kAllHeads:
        return norm(own, names, {heads * size});
    }
  }

  void mlp(const MlpBlock& own, const MlpBlock& names) {
    const std::int64_t experts = own.experts.count;
    dense(own.dense, names.dense, own.gated, experts);
    if (experts == 0) return;
    linear(own.experts.router_tensor, names.experts.router_tensor, experts, model_.hidden, true);
    whole(own.experts.selection_bias, names.experts.selection_bias, {experts});
    whole(own.experts.weight_scales, names.experts.weight_scales, {experts});
    // The router norm's name has no ".weight".
    add(own.experts.router_norm.tensor, names.experts.router_norm.tensor, ".weight", "",
        {model_.hidden}, true);
    norm(own.experts.norm_in, names.experts.norm_in, {model_.hidden});
    norm(own.experts.norm_out, names.experts.norm_out, {model_.hidden});
    if (own.experts.shared.size == 0) return;
    norm(own.experts.shared_norm_out, names.experts.shared_norm_out, {model_.hidden});
    dense(own.experts.shared, names.experts.shared, own.gated, 0);
    linear(own.experts.shared_gate, names.experts.shared_gate, 1, model_.hidden, true);
  }

  void dense(const GatedMlpBlock& own, const GatedMlpBlock& names, bool gated,
             std::int64_t experts) {
    linear(own.down, names.down, model_.hidden, own.size, false, experts);
    if (!gated) return linear(own.up, names.up, own.size, model_.hidden, false, experts);
    const bool is_fused = own.gate.tensor.empty() || find(own.fused.tensor, ".weight").has_value();
    if (names.gate.tensor.empty()) {
      const LinearBlock& from = is_fused ? own.fused : own.up;
      return linear(from, names.fused, 2 * own.size, model_.hidden, false, experts);
    }
    linear(is_fused ? own.fused : own.gate, names.gate, own.size, model_.hidden, false, experts);
    linear(is_fused ? own.fused : own.up, names.up, own.size, model_.hidden, false, experts);
  }

  void head(const HeadBlock& names) {
    const HeadBlock& own = model_.head;
    if (!own.present || model_.kind == ModelKind::kEncoder) return;
    linear(own.projection, names.projection, model_.decoder.embedding.size, model_.hidden);
    norm(own.projection_norm, names.projection_norm, {model_.decoder.embedding.size});
    const std::int64_t width =
        own.projection.tensor.empty() ? model_.hidden : model_.decoder.embedding.size;
    if (!own.tied) {
      linear(own.linear, names.linear, model_.vocabulary, width);
    } else if (own.bias.empty()) {
      add(own.linear.tensor, names.linear.tensor, ".bias", ".bias", {model_.vocabulary}, true);
    }
    whole(own.bias, names.bias, {model_.vocabulary});
  }

  const Architecture& model_;
  const Checkpoint& checkpoint_;
  std::vector<GgufTensor> tensors_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<GgufTensor>> gguf_tensors(const Architecture& model, const Architecture& names,
                                             const Checkpoint& checkpoint) {
  return TensorLister(model, checkpoint).list(names);
}

}  // namespace weft
