#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/tests/kernels/cuda/ops_reference_cuda.h"
#include "weft/tests/kernels/cuda/rows_reference_cuda.h"
#include "weft/tests/kernels/experts/experts_reference.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda::reference {

void route(const CudaRouteParams& params) {
  const DeviceRouting& routing = params.routing;
  const std::int32_t chosen = params.spec.chosen;
  for (std::int64_t t = 0; t < params.rows; ++t) {
    std::vector<double> scores;
    for (std::int32_t e = 0; e < params.experts; ++e) scores.push_back(at(params.scores, t, e));
    std::int64_t place = t * chosen;
    for (const auto& [expert, weight] : test::route_reference(
             params.spec, params.selection_bias, params.weight_scales, std::move(scores))) {
      routing.expert_of[place] = expert;
      routing.weight_of[place++] = static_cast<float>(weight);
    }
  }
  const auto sorted = test::sort_choices(
      std::span(routing.expert_of, static_cast<std::size_t>(params.rows * chosen)), params.experts,
      chosen);
  std::ranges::copy(sorted.starts, routing.starts);
  std::ranges::copy(sorted.order, routing.order);
  std::ranges::copy(sorted.token_of, routing.token_of);
  std::ranges::copy(sorted.place_of, routing.place_of);
}

void expert_linear(const CudaExpertLinearParams& params) {
  for (std::int32_t e = 0; e < params.experts; ++e) {
    CudaLinearParams linear = params.linear;
    linear.weight = params.weights[e];
    linear.bias = params.biases != nullptr ? params.biases[e] : nullptr;
    linear.input_rows = params.gathers ? params.routing.token_of : nullptr;
    const std::int32_t routed = params.first_expert + e;
    for (std::int32_t c = params.routing.starts[routed]; c < params.routing.starts[routed + 1];
         ++c) {
      for (std::int64_t n = 0; n < linear.weight.outputs; ++n) {
        put(linear.out, c, n, test::linear_output(linear, c, n));
      }
    }
  }
}

void combine(const CudaCombineParams& params) {
  for (std::int64_t t = 0; t < params.rows; ++t) {
    for (std::int64_t i = 0; i < params.out.width; ++i) {
      const double sum = test::combine_reference(
          t, params.chosen, params.routing.weight_of, params.routing.place_of,
          [&](std::int32_t place) {
            const bool is_here =
                params.experts.count == 0 ||
                params.experts.has(params.routing.expert_of[params.routing.order[place]]);
            return is_here ? at(params.in, place, i) : 0.0;
          });
      put(params.out, t, i,
          params.residual.data != nullptr ? at(params.residual, t, i) + sum : sum);
    }
  }
}

}  // namespace weft::cuda::reference
