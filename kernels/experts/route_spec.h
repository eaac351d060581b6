#pragma once

#include <cstdint>

namespace weft {

/// How a router's scores become weights.
enum class RouterKind : std::uint8_t {
  kSoftmaxThenTopK,  ///< softmax over all experts, then the k best (Qwen, DeepSeek, Mixtral)
  kTopKThenSoftmax,  ///< the k best, then softmax over the k (gpt-oss, Granite)
  /// the k best, each weighed by the softmax over the experts not yet taken within `margin` of it
  /// (SparseMixer, Liu et al., arXiv 2409.12136, without its noise; Phi-3.5-MoE)
  kSoftmaxOfClose,
  kSigmoid,  ///< sigmoid of each, then the k best (DeepSeek-V3, Llama 4 with k = 1)
};

/// The attributes of the choice of experts. The spec reader, the program, the host and the devices
/// share this struct.
struct RouteSpec {
  RouterKind kind = RouterKind::kSoftmaxThenTopK;
  std::int32_t chosen = 1;  ///< k
  std::int32_t groups = 1;  ///< experts are chosen from the best groups only (DeepSeek)
  std::int32_t chosen_groups = 1;
  /// A group's score is the sum of this many best scores (V2: 1, V3: 2).
  std::int32_t group_best = 1;
  float margin = 0;  ///< kSoftmaxOfClose: s counts beside b when b - s <= margin * max(|s|, b)
  bool normalize = false;  ///< weights sum to 1
  float scale = 1;         ///< multiplies the weights
  friend bool operator==(const RouteSpec&, const RouteSpec&) = default;
};

}  // namespace weft
