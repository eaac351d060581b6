#include <array>

#include "weft/model/spec/spec.h"

namespace weft {
namespace {

// Each string is a key. "key" has a value. "key:table" has a table of that name or, if the table
// has a key `tensor`, the tensor's name itself. "key|table" has a value or a table of that name.
// "*" allows any key with a value. "^" stands for the keys of another table.
constexpr std::array<std::string_view, 24> kTop = {
    "name",
    "kind",
    "claims:claims",
    "config_root",
    "wraps",
    "requires",
    "let:let",
    "each_layer:let",
    "vocabulary",
    "hidden",
    "context",
    "end_tokens",
    "trained_context",
    "start_token",
    "transposed",
    "gguf:gguf",
    "head:head",
    "encoder:stack",
    "^stack",
    "optional_prefixes",
    "ignored_tensors",
    "output:output",
    "pooling:pooling",
    "scores:scores",
};
constexpr std::array<std::string_view, 2> kClaims = {"model_type", "architectures"};
constexpr std::array<std::string_view, 1> kLet = {"*"};
constexpr std::array<std::string_view, 6> kGguf = {"architectures", "where",    "config:let",
                                                   "override:top",  "write_as", "metadata:let"};
constexpr std::array<std::string_view, 10> kStack = {
    "layers",  "causal",          "norm:norm", "embedding:embedding", "attention:attention",
    "mlp:mlp", "cross:attention", "parallel",  "final_norm:norm",     "layer_input:layer_input",
};
constexpr std::array<std::string_view, 8> kEmbedding = {
    "tensor", "size",      "projection:linear",   "scale",
    "types",  "norm:norm", "positions:positions", "token_norm:norm",
};
constexpr std::array<std::string_view, 4> kPositions = {"kind", "tensor", "offset", "endpoint"};
constexpr std::array<std::string_view, 6> kNorm = {"tensor",        "kind",     "eps",
                                                   "weight_offset", "has_bias", "present"};
constexpr std::array<std::string_view, 2> kLinear = {"tensor", "transposed"};
constexpr std::array<std::string_view, 7> kResidual = {
    "norm_in:norm",   "norm_out:norm", "norm_sum:norm",     "norm_inner:norm",
    "residual_scale", "sum_scale",     "adds_normed_input",
};
constexpr std::array<std::string_view, 29> kAttention = {
    "heads",
    "kv_heads",
    "head_size",
    "scale",
    "soft_cap",
    "clip",
    "window",
    "chunk",
    "q:linear",
    "k:linear",
    "v:linear",
    "qkv:qkv",
    "out:linear",
    "gate:head_gate",
    "q_norm:norm",
    "k_norm:norm",
    "v_norm:norm",
    "own_kv",
    "present",
    "head_norm_scope",
    "norm_after_rotary",
    "query_growth",
    "query_growth_step",
    "rotary:rotary",
    "alibi",
    "alibi_scale",
    "sinks",
    "relative_bias:relative_bias",
    "^residual",
};
constexpr std::array<std::string_view, 4> kHeadGate = {"tensor", "transposed", "per_head",
                                                       "activation"};
constexpr std::array<std::string_view, 4> kQkv = {"tensor", "transposed", "groups", "order"};
constexpr std::array<std::string_view, 6> kRotary = {"enabled", "size",        "theta",
                                                     "style",   "scaling|let", "reversed"};
constexpr std::array<std::string_view, 2> kRelativeBias = {"tensor", "max_distance"};
constexpr std::array<std::string_view, 9> kMlp = {
    "gated",       "activation",      "gate_limit", "up_offset", "gate_alpha",
    "xielu:xielu", "experts:experts", "^dense",     "^residual",
};
constexpr std::array<std::string_view, 4> kXielu = {"alpha_p", "alpha_n", "beta", "eps"};
constexpr std::array<std::string_view, 5> kDense = {"size", "gate:linear", "up:linear",
                                                    "gate_up:gate_up", "down:linear"};
constexpr std::array<std::string_view, 4> kGateUp = {"tensor", "transposed", "interleaved",
                                                     "up_first"};
constexpr std::array<std::string_view, 20> kExperts = {
    "enabled",
    "count",
    "chosen",
    "router",
    "normalize",
    "scale",
    "groups",
    "chosen_groups",
    "group_best",
    "margin",
    "router_tensor:linear",
    "router_soft_cap",
    "selection_bias",
    "weight_scales",
    "router_scale",
    "router_norm:norm",
    "norm_in:norm",
    "norm_out:norm",
    "shared:shared",
    "^dense",
};
constexpr std::array<std::string_view, 3> kShared = {"gate_tensor:linear", "norm_out:norm",
                                                     "^dense"};
constexpr std::array<std::string_view, 11> kLayerInput = {
    "size",  "tensor",      "table_scale", "projection:linear", "projection_scale", "norm:norm",
    "scale", "gate:linear", "activation",  "out:linear",        "^residual"};
constexpr std::array<std::string_view, 11> kHead = {
    "present",    "tied",      "tensor", "transposed", "bias",      "projection:linear",
    "activation", "norm:norm", "scale",  "soft_cap",   "normalized"};

constexpr std::array<std::string_view, 2> kPooling = {"kind", "normalize"};
constexpr std::array<std::string_view, 5> kScores = {"kind", "dense", "activation", "norm:norm",
                                                     "tensor"};
constexpr std::array<std::string_view, 2> kOutput = {"calls", "thoughts"};

constexpr std::array kSchema = {
    SpecTable{"top", kTop},
    SpecTable{"claims", kClaims},
    SpecTable{"let", kLet},
    SpecTable{"gguf", kGguf},
    SpecTable{"stack", kStack},
    SpecTable{"embedding", kEmbedding},
    SpecTable{"positions", kPositions},
    SpecTable{"norm", kNorm},
    SpecTable{"linear", kLinear},
    SpecTable{"residual", kResidual},
    SpecTable{"attention", kAttention},
    SpecTable{"head_gate", kHeadGate},
    SpecTable{"qkv", kQkv},
    SpecTable{"rotary", kRotary},
    SpecTable{"relative_bias", kRelativeBias},
    SpecTable{"mlp", kMlp},
    SpecTable{"xielu", kXielu},
    SpecTable{"dense", kDense},
    SpecTable{"gate_up", kGateUp},
    SpecTable{"experts", kExperts},
    SpecTable{"shared", kShared},
    SpecTable{"layer_input", kLayerInput},
    SpecTable{"head", kHead},
    SpecTable{"output", kOutput},
    SpecTable{"pooling", kPooling},
    SpecTable{"scores", kScores},
};

}  // namespace

std::span<const SpecTable> spec_schema() noexcept { return kSchema; }

}  // namespace weft
