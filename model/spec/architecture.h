#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/kernels/attention/attention_spec.h"
#include "weft/kernels/embedding/embedding_spec.h"
#include "weft/kernels/experts/route_spec.h"
#include "weft/kernels/linear/linear_spec.h"
#include "weft/kernels/norm/norm_spec.h"
#include "weft/kernels/rotary/rotary_spec.h"
#include "weft/model/vectors/pooling.h"

namespace weft {

class Checkpoint;
class Spec;
class SpecScope;

enum class ModelKind : std::uint8_t { kDecoder, kEncoder, kEncoderDecoder };
enum class PositionKind : std::uint8_t {
  kNone,
  kLearned,
  kSinusoidal,  ///< sines in the first half, cosines in the second (tensor2tensor, fairseq)
};

/// The possible names of a tensor in the checkpoint, best first; empty: there is no tensor.
using TensorNames = std::vector<std::string>;

struct NormBlock {
  bool present = false;
  NormSpec spec;
  TensorNames tensor;     ///< names without ".weight" and ".bias"; empty: not learned
  bool has_bias = false;  ///< the model is refused if the bias is missing
};

/// A linear layer, or several layers that are one matrix in the program.
struct LinearBlock {
  TensorNames tensor;
  bool transposed = false;  ///< stored [inputs, outputs]
};

struct QkvBlock {
  LinearBlock query, key, value;  ///< used if fused is empty
  LinearBlock fused;              ///< rows of `groups` groups, each with its queries, keys, values
  std::int64_t groups = 1;
  std::string order;  ///< order of the parts of a group: "qkv"
};

struct AttentionBlock {
  HeadShape shape;
  /// `causal` and the number of buckets are set once the stack and the tensor are known.
  AttentionSpec spec;
  QkvBlock qkv;
  LinearBlock out;
  LinearBlock gate;  ///< scales the heads' outputs
  Activation gate_activation = Activation::kSigmoid;
  bool gate_per_head = false;  ///< [A, H] instead of [A D, H]
  NormBlock query_norm, key_norm, value_norm;
  HeadNormScope head_norm_scope = HeadNormScope::kPerHead;
  RotarySpec rotary_spec;
  std::int32_t rotary = -1;  ///< index into StackBlock::rotary, -1 = none
  bool alibi = false;
  float alibi_scale = 1;  ///< factor of the slopes (Falcon scales them with the scores)
  TensorNames sinks;
  TensorNames relative_bias;  ///< [buckets, A]
  /// The earlier layer whose keys and values this layer reads; -1 = it has its own.
  std::int32_t kv_from = -1;
};

struct GatedMlpBlock {
  std::int64_t size = 0;     ///< F
  LinearBlock gate, up;      ///< `up` alone when not gated
  LinearBlock fused;         ///< gate and up in one tensor
  bool interleaved = false;  ///< rows of the fused tensor alternate
  bool up_first = false;
  LinearBlock down;
};

struct ExpertsBlock {
  std::int32_t count = 0;
  RouteSpec route;
  LinearBlock router_tensor;
  float router_scale = 1;  ///< factor of the scores
  float router_soft_cap = 0;
  TensorNames selection_bias;
  TensorNames weight_scales;  ///< [count]
  /// Norm of the router's input; absent: the router reads the experts' input.
  NormBlock router_norm;
  NormBlock norm_in;        ///< norm of the experts' input; absent: the MLP's
  NormBlock norm_out;       ///< norm of the experts' sum, before the shared expert is added
  GatedMlpBlock shared;     ///< size 0 = none
  LinearBlock shared_gate;  ///< its sigmoid scales the shared expert (Qwen2-MoE)
  NormBlock shared_norm_out;
};

struct MlpBlock {
  bool gated = false;
  LinearSpec up;        ///< the steps after the product with up, or with gate and up
  GatedMlpBlock dense;  ///< an expert's if experts.count > 0 ("{expert}" in its names)
  ExpertsBlock experts;
};

/// How a sublayer f reads from the residual stream x and adds to it: x' = norm_sum(sum_scale * (x +
/// scale * norm_out(f(norm_in(x))))).
struct ResidualBlock {
  NormBlock norm_in, norm_out, norm_sum;
  NormBlock norm_inner;  ///< before the last linear layer of f (sub-norm)
  float scale = 1;
  float sum_scale = 1;             ///< differs from 1 only if norm_out is present
  bool adds_normed_input = false;  ///< adds norm_in(x) instead of x (BLOOM's option)
};

/// A layer's own embedding of the token, which gates a last sublayer (Gemma 4 E): own = scale *
/// (norm(projection(e)) + table[token]), where e is the model's embedding of the token, and f(x) =
/// out(activation(gate(x)) * own).
struct LayerInputBlock {
  std::int64_t size = 0;  ///< P; 0 = the layer has none
  TensorNames tensor;     ///< [V, layers * P]
  EmbeddingSpec spec;
  LinearBlock projection;  ///< [layers * P, H]
  float projection_scale = 1;
  NormBlock norm;
  float scale = 1;
  LinearBlock gate;  ///< [P, H]
  Activation activation = Activation::kNone;
  LinearBlock out;  ///< [H, P]
  ResidualBlock residual;
};

/// The layer's tokens do not mix: the layer is an MLP alone.
struct NoMixer {};

/// How a layer's tokens exchange information.
using MixerBlock = std::variant<NoMixer, AttentionBlock>;

struct LayerBlock {
  MixerBlock mixer;
  ResidualBlock mixer_residual;
  bool has_cross = false;
  AttentionBlock cross;
  ResidualBlock cross_residual;
  MlpBlock mlp;
  ResidualBlock mlp_residual;
  bool parallel = false;  ///< the MLP reads the mixer's input; both outputs are added (GPT-J, NeoX)
  LayerInputBlock input;

  /// Returns the mixer if it is attention, else null.
  [[nodiscard]] const AttentionBlock* attention() const noexcept {
    return std::get_if<AttentionBlock>(&mixer);
  }
};

struct PositionBlock {
  PositionKind kind = PositionKind::kNone;
  bool endpoint = true;  ///< sinusoidal: the last frequency is 1 / 10000 (position_tables.h)
  TensorNames tensor;
};

struct EmbeddingBlock {
  TensorNames tensor;
  std::int64_t size = 0;  ///< width of the table; it is projected if it differs from hidden
  LinearBlock projection;
  EmbeddingSpec spec;
  PositionBlock positions;
  TensorNames types;     ///< token types: a request's first text has row 0, the second row 1
  NormBlock token_norm;  ///< norm of the token's row alone (small Blenderbot's decoder)
  NormBlock norm;
};

/// How the angles of a rotary embedding are computed.
struct RotaryBlock {
  std::int32_t size = 0;  ///< R
  double theta = 10000;
  boost::json::value scaling;  ///< rope_parameters or rope_scaling of config.json, or null
  bool reversed = false;       ///< angles decrease with the position (nanochat)
  friend bool operator==(const RotaryBlock&, const RotaryBlock&) = default;
};

struct StackBlock {
  std::vector<RotaryBlock> rotary;
  EmbeddingBlock embedding;
  std::vector<LayerBlock> layers;
  NormBlock final_norm;
  bool causal = true;
};

/// The layers that give logits: for the next token, or in an encoder (a masked language model) for
/// the token itself.
struct HeadBlock {
  bool present = true;  ///< for an encoder only if its spec has the table
  bool tied = false;
  bool normalized = false;  ///< each row of `linear` is divided by its length when it is read
  LinearBlock linear;
  TensorNames bias;        ///< names of a bias with its own name (BART)
  LinearBlock projection;  ///< before the head, back to the embedding's width (OPT-350m)
  Activation projection_activation = Activation::kNone;  ///< activation of BERT's head
  NormBlock projection_norm;                             ///< norm after the activation
  LinearSpec spec;  ///< the steps after the product with `linear`
};

/// How hidden states become an embedding if no modules.json states it.
struct PoolingBlock {
  PoolingKind kind = PoolingKind::kMean;
  bool normalize = true;
};

/// The layers that score labels, in a checkpoint for which scores_labels() is true.
struct ScoresBlock {
  PoolingKind pooling = PoolingKind::kLast;
  TensorNames dense;                          ///< layer before the last; empty: there is none
  Activation activation = Activation::kNone;  ///< activation after `dense`
  NormBlock norm;                             ///< norm after the activation
  TensorNames tensor;
};

/// A model as a composition of known blocks: a spec applied to one checkpoint's config. Plain data.
struct Architecture {
  std::string family;  ///< the spec's name
  ModelKind kind = ModelKind::kDecoder;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t context = 0;          ///< positions that the model supports
  std::int64_t trained_context = 0;  ///< context before rope scaling stretched it
  std::optional<StackBlock> encoder;
  StackBlock decoder;  ///< for an encoder-only model: its encoder
  HeadBlock head;
  PoolingBlock pooling;
  ScoresBlock scores;
  std::vector<std::int64_t> end_tokens;        ///< end tokens that config states
  std::int64_t start_token = -1;               ///< decoder_start_token_id
  std::vector<std::string> optional_prefixes;  ///< optional prefixes of tensor names
  /// Shell patterns of tensors that are known and not needed.
  std::vector<std::string> ignored_tensors;
  std::vector<std::string> read_tensors;  ///< tensors whose numbers expressions have read
};

/// Whether the checkpoint's `architectures` is a ...ForSequenceClassification: such a model scores
/// labels and chooses no tokens.
[[nodiscard]] bool scores_labels(const Checkpoint& checkpoint);

/// Applies `spec` to the checkpoint's config. kBadConfig naming spec key, field and value if a
/// value is missing or out of range; kBadSpec for an unknown key.
[[nodiscard]] Result<Architecture> resolve_architecture(const Spec& spec,
                                                        const Checkpoint& checkpoint);

/// Reads the keys in `tree` in a scope, which keeps errors.
[[nodiscard]] Architecture resolve_tree(SpecScope& scope, const boost::json::object& tree,
                                        const std::string& family);

}  // namespace weft
