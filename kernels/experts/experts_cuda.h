#pragma once

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/experts/expert_run.h"
#include "weft/kernels/experts/route_spec.h"
#include "weft/kernels/linear/linear_cuda.h"

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
/// memory; all matrices have the shape and type of `linear.weight`. The E experts may be some of
/// those that the router chooses from: the first of them is `first_expert`.
struct CudaExpertLinearParams {
  CudaLinearParams linear{};
  std::int32_t experts = 0;
  std::int32_t first_expert = 0;
  const DeviceMatrix* weights = nullptr;
  const float* const* biases = nullptr;  ///< or null; of a null entry there is none
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
