#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/experts/expert_run.h"
#include "weft/kernels/experts/route_spec.h"
#include "weft/kernels/linear/linear_cuda.h"
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
  /// [E] added to scores for choosing, but not to the weights (DeepSeek-V3), or null
  const float* selection_bias = nullptr;
  /// [E] factors of the final weights (Gemma 4), or null
  const float* weight_scales = nullptr;
  /// Results. expert_of and weight_of: [T, k], best first, ties to the lower expert.
  std::span<std::int32_t> expert_of = {};
  std::span<float> weight_of = {};
  /// The choices sorted by expert: elements [starts[e], starts[e + 1]) of `order` are the
  /// choices (token * k + rank) of expert e, ascending. starts: [E + 1], order: [T * k].
  /// token_of: [T * k], the token of each element of `order`.
  std::span<std::int32_t> starts = {};
  std::span<std::int32_t> order = {};
  std::span<std::int32_t> token_of = {};
};

/// The thread with index 0 does all of the work (T * E numbers); the others return. A NaN score is
/// chosen last, so a token whose scores are all NaN gets the lowest experts. Allocates nothing.
void route(const RouteParams& params, Share share);

/// out[t] = residual[t] + sum over ranks r = 0 .. k-1, in that order, of weight_of[t, r] *
/// in[place_of[t, r]]. Choices whose expert is not one of `experts` are left out: their rows of
/// `in` are not read.
struct CombineParams {
  ConstRows in = {};  ///< [T * k, H]: the experts' outputs in the order of RouteParams::order
  std::int32_t chosen = 1;
  std::span<const float> weight_of = {};         ///< [T, k]
  std::span<const std::int32_t> expert_of = {};  ///< [T, k]; empty if `experts` has all experts
  ExpertRun experts = {};
  std::span<const std::int32_t> order = {};  ///< [T * k]
  std::span<std::int32_t> place_of = {};     ///< [T * k] scratch: the inverse of order
  ConstRows residual = {};                   ///< data null: no residual; may be `out`
  Rows out = {};                             ///< [T, H]
};

/// Fills CombineParams::place_of from `order`; thread 0 alone, before a barrier and combine().
void invert_order(const CombineParams& params, Share share);
void combine(const CombineParams& params, Share share);

}  // namespace weft

namespace weft::cuda {

/// The choices of a step, in the device's memory; as in weft::RouteParams. `place_of` is the
/// inverse of `order`.
struct DeviceRouting {
  std::int32_t* expert_of = nullptr;  ///< [T, k]
  float* weight_of = nullptr;         ///< [T, k]
  std::int32_t* starts = nullptr;     ///< [E + 1]
  std::int32_t* order = nullptr;      ///< [T * k]
  std::int32_t* token_of = nullptr;   ///< [T * k]
  std::int32_t* place_of = nullptr;   ///< [T * k]
};

/// As weft::RouteParams, all rows.
struct CudaRouteParams {
  std::int64_t rows = 0;
  DeviceRows scores{};  ///< f32 [T, E]
  std::int32_t experts = 0;
  RouteSpec spec{};
  const float* selection_bias = nullptr;  ///< [E] or null
  const float* weight_scales = nullptr;   ///< [E] or null
  DeviceRouting routing{};
};

[[nodiscard]] Status route(const CudaRouteParams& params, Stream stream);

/// A linear op for every expert over the choices of that expert. In `linear`, rows is T * k, and
/// weight, bias and input_rows are not used. `weights` and `biases` are arrays of E in the device's
/// memory; all matrices have the shape and type of `linear.weight`. The E experts may be a part of
/// the router's experts that begins at `first_expert`.
struct CudaExpertLinearParams {
  CudaLinearParams linear{};
  std::int32_t experts = 0;
  std::int32_t first_expert = 0;
  const DeviceMatrix* weights = nullptr;
  const float* const* biases = nullptr;  ///< null: no biases; a null entry: that expert has no bias
  bool gathers = false;                  ///< `in` has token rows; otherwise choice rows
  DeviceRouting routing{};
};

[[nodiscard]] Status expert_linear(const CudaExpertLinearParams& params, Stream stream);

/// As weft::CombineParams.
struct CudaCombineParams {
  std::int64_t rows = 0;
  DeviceRows in{};  ///< f32 [T * k, H]
  std::int32_t chosen = 1;
  DeviceRouting routing{};
  ExpertRun experts{};
  DeviceRows residual{};  ///< f32, or data null
  DeviceRows out{};       ///< f32
};

[[nodiscard]] Status combine(const CudaCombineParams& params, Stream stream);

}  // namespace weft::cuda
