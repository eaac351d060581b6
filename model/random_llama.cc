#include "weft/model/random_llama.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/encoding/random_block.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"

namespace weft {
namespace {

struct NamedShape {
  std::string_view name;
  LlamaShape shape;
};

using Family = LlamaShape::Family;

// The shapes of llama2.c's stories110M and of the models with these names. Llama 3 and
// Qwen3-30B-A3B have shorter contexts here.
constexpr std::array<NamedShape, 11> kShapes = {{
    {"llama-110m", {12, 768, 2048, 12, 12, 32000, 1024}},
    {"tinyllama-1.1b", kTinyLlama},
    {"llama-2-7b", kLlama7B},
    {"llama-3-8b", {32, 4096, 14336, 32, 8, 128256, 8192}},
    {"llama-2-13b", {40, 5120, 13824, 40, 40, 32000, 4096}},
    {"llama-33b", {60, 6656, 17920, 52, 52, 32000, 2048}},
    {"falcon-40b", {60, 8192, 32768, 128, 8, 65024, 2048, DType::kBF16, Family::kFalcon}},
    {"llama-65b", {80, 8192, 22016, 64, 64, 32000, 2048}},
    {"llama-3-70b", {80, 8192, 28672, 64, 8, 128256, 8192}},
    {"qwen3-30b-a3b",
     {48, 2048, 768, 32, 4, 151936, 8192, DType::kBF16, Family::kQwen3Moe, 128, 128, 8}},
    {"mixtral-8x7b",
     {32, 4096, 14336, 32, 8, 32000, 8192, DType::kBF16, Family::kMixtral, 128, 8, 2}},
}};

constexpr std::int64_t kPlaces = 4096;

std::int64_t head_size_of(const LlamaShape& shape) {
  return shape.head_size > 0 ? shape.head_size : shape.hidden / shape.heads;
}

/// Makes a model's random tensors.
class Weights {
 public:
  Weights(const LlamaShape& shape, std::uint32_t seed) : shape_(shape), random_(seed) {
    const std::int64_t largest =
        std::max({shape.vocabulary, shape.ffn, shape.hidden,
                  (shape.heads + 2 * shape.kv_heads) * head_size_of(shape)}) *
        shape.hidden;
    // A variance of 1 / hidden keeps the magnitude of the hidden states.
    matrices_ = is_encoded(shape.weights)
                    ? blocks(largest / block_of(shape.weights).elements + kPlaces)
                    : numbers(shape.weights, largest + kPlaces,
                              std::sqrt(3 / static_cast<double>(shape.hidden)), 0);
    norms_ = numbers(DType::kBF16, shape.hidden + kPlaces, 0.25, 1);
  }

  std::vector<CheckpointTensor> tensors() {
    if (shape_.family == Family::kFalcon) {
      falcon();
    } else {
      llama();
    }
    return std::move(all_);
  }

 private:
  void llama() {
    const std::int64_t hidden = shape_.hidden;
    const std::int64_t head = head_size_of(shape_);
    const std::int64_t queries = head * shape_.heads;
    const std::int64_t kv = head * shape_.kv_heads;
    matrix("model.embed_tokens", shape_.vocabulary, hidden);
    matrix("lm_head", shape_.vocabulary, hidden);
    norm("model.norm", hidden);
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      const std::string layer = "model.layers." + std::to_string(i) + ".";
      norm(layer + "input_layernorm", hidden);
      norm(layer + "post_attention_layernorm", hidden);
      matrix(layer + "self_attn.q_proj", queries, hidden);
      matrix(layer + "self_attn.k_proj", kv, hidden);
      matrix(layer + "self_attn.v_proj", kv, hidden);
      matrix(layer + "self_attn.o_proj", hidden, queries);
      if (shape_.family == Family::kQwen3Moe) {
        norm(layer + "self_attn.q_norm", head);
        norm(layer + "self_attn.k_norm", head);
      }
      if (shape_.family == Family::kLlama) {
        mlp(layer + "mlp.gate_proj", layer + "mlp.up_proj", layer + "mlp.down_proj");
      } else {
        experts(layer);
      }
    }
  }

  void falcon() {
    const std::int64_t hidden = shape_.hidden;
    const std::int64_t head = head_size_of(shape_);
    matrix("transformer.word_embeddings", shape_.vocabulary, hidden);
    norm_and_bias("transformer.ln_f", hidden);
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      const std::string layer = "transformer.h." + std::to_string(i) + ".";
      norm_and_bias(layer + "ln_attn", hidden);
      norm_and_bias(layer + "ln_mlp", hidden);
      matrix(layer + "self_attention.query_key_value", (shape_.heads + 2 * shape_.kv_heads) * head,
             hidden);
      matrix(layer + "self_attention.dense", hidden, shape_.heads * head);
      matrix(layer + "mlp.dense_h_to_4h", shape_.ffn, hidden);
      matrix(layer + "mlp.dense_4h_to_h", hidden, shape_.ffn);
    }
  }

  void mlp(std::string gate, std::string up, std::string down) {
    matrix(std::move(gate), shape_.ffn, shape_.hidden);
    matrix(std::move(up), shape_.ffn, shape_.hidden);
    matrix(std::move(down), shape_.hidden, shape_.ffn);
  }
  void experts(const std::string& layer) {
    const bool is_qwen = shape_.family == Family::kQwen3Moe;
    const std::string block = layer + (is_qwen ? "mlp." : "block_sparse_moe.");
    matrix(block + "gate", shape_.experts, shape_.hidden);
    for (std::int64_t i = 0; i < shape_.experts; ++i) {
      const std::string own = block + "experts." + std::to_string(i) + ".";
      if (is_qwen) {
        mlp(own + "gate_proj", own + "up_proj", own + "down_proj");
      } else {
        mlp(own + "w1", own + "w3", own + "w2");
      }
    }
  }

  void matrix(std::string name, std::int64_t outputs, std::int64_t inputs) {
    all_.push_back(
        tensor(std::move(name) + ".weight", {outputs, inputs}, shape_.weights, matrices_));
  }
  void norm(std::string name, std::int64_t size) {
    all_.push_back(tensor(std::move(name) + ".weight", {size}, DType::kBF16, norms_));
  }
  void norm_and_bias(const std::string& name, std::int64_t size) {
    norm(name, size);
    all_.push_back(tensor(name + ".bias", {size}, DType::kBF16, norms_));
  }

  /// Returns numbers evenly spread over middle - range .. middle + range.
  SharedSource numbers(DType dtype, std::int64_t count, double range, double middle) {
    const auto size = static_cast<std::size_t>(block_of(dtype).bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      const double part = static_cast<double>(random_()) / std::minstd_rand::max();
      const auto number = static_cast<float>(middle + range * (2 * part - 1));
      const std::uint16_t narrow = to_bf16(number);
      std::memcpy(bytes.data() + at,
                  dtype == DType::kF32 ? static_cast<const void*>(&number) : &narrow, size);
    }
    return std::make_shared<const MemorySource>("random", std::move(bytes));
  }

  SharedSource blocks(std::int64_t count) {
    std::vector<std::byte> bytes;
    const Encoding& encoding = encoding_of(shape_.weights);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto block = random_block(encoding, random_);
      bytes.insert(bytes.end(), block.begin(), block.end());
    }
    return std::make_shared<const MemorySource>("random", std::move(bytes));
  }

  CheckpointTensor tensor(std::string name, std::vector<std::int64_t> shape, DType dtype,
                          const SharedSource& from) {
    std::uint64_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
    const std::uint64_t place = random_() % kPlaces;
    const DTypeBlock block = block_of(dtype);
    const auto bytes = static_cast<std::uint64_t>(block.bytes);
    return {std::move(name),  dtype,
            std::move(shape), from,
            place * bytes,    count / static_cast<std::uint64_t>(block.elements) * bytes};
  }

  const LlamaShape shape_;
  std::minstd_rand random_;
  SharedSource matrices_;
  SharedSource norms_;
  std::vector<CheckpointTensor> all_;
};

std::string_view model_type(Family family) {
  switch (family) {
    case Family::kLlama:
      return "llama";
    case Family::kMixtral:
      return "mixtral";
    case Family::kFalcon:
      return "falcon";
    case Family::kQwen3Moe:
      break;
  }
  return "qwen3_moe";
}

boost::json::value config_of_shape(const LlamaShape& shape) {
  return {{"model_type", model_type(shape.family)},
          {"head_dim", head_size_of(shape)},
          {"num_local_experts", shape.experts},
          {"num_experts", shape.experts},
          {"num_experts_per_tok", shape.chosen},
          {"moe_intermediate_size", shape.ffn},
          {"norm_topk_prob", true},
          {"sliding_window", nullptr},
          {"hidden_size", shape.hidden},
          {"intermediate_size", shape.ffn},
          {"num_hidden_layers", shape.layers},
          {"num_attention_heads", shape.heads},
          {"num_key_value_heads", shape.kv_heads},
          {"num_kv_heads", shape.kv_heads},
          {"new_decoder_architecture", true},
          {"ffn_hidden_size", shape.ffn},
          {"vocab_size", shape.vocabulary},
          {"max_position_embeddings", shape.context},
          {"rms_norm_eps", 1e-5},
          {"hidden_act", "silu"},
          {"tie_word_embeddings", shape.family == Family::kFalcon}};
}

}  // namespace

std::optional<LlamaShape> find_llama_shape(std::string_view name) {
  const auto* const found = std::ranges::find(kShapes, name, &NamedShape::name);
  if (found == kShapes.end()) return std::nullopt;
  return found->shape;
}

std::string llama_shape_names() {
  std::string names;
  for (const NamedShape& one : kShapes) {
    if (!names.empty()) names += ", ";
    names += one.name;
  }
  return names;
}

RandomLlama::RandomLlama(const LlamaShape& shape, std::uint32_t seed) {
  Weights weights(shape, seed);
  checkpoint_ = std::make_shared<Checkpoint>(Checkpoint::make(CheckpointFormat::kSafetensors,
                                                              "random", config_of_shape(shape),
                                                              weights.tensors(), nullptr)
                                                 .value());
  const Spec spec = find_spec(*checkpoint_).value();
  architecture_ = std::make_shared<Architecture>(resolve_architecture(spec, *checkpoint_).value());
  program_ = std::make_shared<Program>(compile(*architecture_, *checkpoint_).value());
}

}  // namespace weft
