#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/experts/expert_run.h"
#include "weft/kernels/experts/route_spec.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The most experts of one layer: route() keeps its numbers for a token on the stack. The largest
/// published models have 512.
inline constexpr std::int32_t kMaxExperts = 1024;

/// The choice of k of E experts for each token.
struct RouteParams {
  ConstRows scores = {};  ///< [T, E], the router's linear output; E at most kMaxExperts
  RouteSpec spec = {};
  /// [E] added for the choice, not to the weight (DeepSeek-V3), or null
  const float* selection_bias = nullptr;
  /// [E] multiply the weights at last (Gemma 4), or null
  const float* weight_scales = nullptr;
  /// Results. expert_of and weight_of: [T, k], best first, ties to the lower expert.
  std::span<std::int32_t> expert_of = {};
  std::span<float> weight_of = {};
  /// The same choices sorted by expert: elements [starts[e], starts[e + 1]) of `order` are the
  /// choices (token * k + rank) of expert e, ascending. starts: [E + 1], order: [T * k]. And
  /// token_of: [T * k] the token of each element of `order`.
  std::span<std::int32_t> starts = {};
  std::span<std::int32_t> order = {};
  std::span<std::int32_t> token_of = {};
};

/// The thread with index 0 does all of the work (T * E numbers); the others return. NaN is chosen
/// last, so a token of NaN scores gets the lowest experts. Nothing is allocated.
void route(const RouteParams& params, Share share);

/// out[t] = residual[t] + sum over ranks r = 0 .. k-1, in that order, of weight_of[t, r] *
/// in[place_of[t, r]]. Choices whose expert is not one of `experts` are left out: their rows of
/// `in` are not read.
struct CombineParams {
  ConstRows in = {};  ///< [T * k, H]: the experts' outputs in the order of RouteParams::order
  std::int32_t chosen = 1;
  std::span<const float> weight_of = {};         ///< [T, k]
  std::span<const std::int32_t> expert_of = {};  ///< [T, k]; empty where `experts` are all
  ExpertRun experts = {};
  std::span<const std::int32_t> order = {};  ///< [T * k]
  std::span<std::int32_t> place_of = {};     ///< [T * k] scratch: the inverse of order
  ConstRows residual = {};                   ///< data null when there is none; may be `out`
  Rows out = {};                             ///< [T, H]
};

/// Fills CombineParams::place_of from `order`; thread 0 alone, before a barrier and combine().
void invert_order(const CombineParams& params, Share share);
void combine(const CombineParams& params, Share share);

}  // namespace weft
