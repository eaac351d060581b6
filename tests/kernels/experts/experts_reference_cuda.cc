#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "weft/tests/kernels/cuda/ops_reference_cuda.h"
#include "weft/tests/kernels/cuda/rows_reference_cuda.h"
#include "weft/tests/kernels/linear/linear_reference.h"

namespace weft::cuda::reference {
namespace {

using Numbers = std::vector<double>;
using Indices = std::vector<std::size_t>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void softmax(Numbers& numbers) {
  const double best = *std::ranges::max_element(numbers);
  double sum = 0;
  for (double& number : numbers) sum += number = std::exp(number - best);
  for (double& number : numbers) number /= sum;
}

/// The places of the `count` greatest, ties to the lower place.
Indices best_places(const Numbers& numbers, std::int64_t count) {
  Indices places(numbers.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places,
                           [&](std::size_t a, std::size_t b) { return numbers[a] > numbers[b]; });
  places.resize(static_cast<std::size_t>(count));
  return places;
}

/// Experts that may be chosen: those of the best groups.
std::vector<bool> allowed_experts(const CudaRouteParams& params, const Numbers& choice) {
  const auto size = choice.size() / static_cast<std::size_t>(params.spec.groups);
  Numbers score;
  for (std::size_t first = 0; first < choice.size(); first += size) {
    const auto begin = choice.begin() + static_cast<std::ptrdiff_t>(first);
    const Numbers own(begin, begin + static_cast<std::ptrdiff_t>(size));
    score.push_back(0);
    for (const std::size_t e : best_places(own, params.spec.group_best)) score.back() += own[e];
  }
  std::vector<bool> allowed(choice.size(), params.spec.groups == params.spec.chosen_groups);
  if (params.spec.groups == params.spec.chosen_groups) return allowed;
  for (const std::size_t group : best_places(score, params.spec.chosen_groups)) {
    for (std::size_t e = group * size; e < (group + 1) * size; ++e) allowed[e] = true;
  }
  return allowed;
}

void choose_experts(const CudaRouteParams& params, std::int64_t token) {
  Numbers weight;
  for (std::int32_t e = 0; e < params.experts; ++e) weight.push_back(at(params.scores, token, e));
  if (params.spec.kind == RouterKind::kSoftmaxThenTopK) softmax(weight);
  if (params.spec.kind == RouterKind::kSigmoid)
    std::ranges::transform(weight, weight.begin(), sigmoid);
  Numbers choice = weight;
  for (std::size_t e = 0; e < choice.size(); ++e) {
    if (params.selection_bias != nullptr) choice[e] += params.selection_bias[e];
    if (std::isnan(choice[e])) choice[e] = kNever;
  }
  std::vector<bool> left = allowed_experts(params, choice);
  Numbers weights;
  for (std::int32_t rank = 0; rank < params.spec.chosen; ++rank) {
    std::size_t best = choice.size();
    for (std::size_t e = 0; e < choice.size(); ++e) {
      if (left[e] && (best == choice.size() || choice[e] > choice[best])) best = e;
    }
    left[best] = false;
    params.routing.expert_of[token * params.spec.chosen + rank] = static_cast<std::int32_t>(best);
    double share = weight[best];
    if (params.spec.kind == RouterKind::kSoftmaxOfClose) {
      double sum = 1;
      for (std::size_t e = 0; e < choice.size(); ++e) {
        const double distance = choice[best] - choice[e];
        const double most = params.spec.margin * std::max(std::abs(choice[e]), choice[best]);
        if (left[e] && distance <= most) sum += std::exp(-distance);
      }
      share = 1 / sum;
    }
    weights.push_back(share);
  }
  if (params.spec.kind == RouterKind::kTopKThenSoftmax) softmax(weights);
  double divisor = params.spec.normalize ? std::accumulate(weights.begin(), weights.end(), 0.0) : 1;
  if (divisor == 0) divisor = 1;
  for (std::size_t rank = 0; rank < weights.size(); ++rank) {
    params.routing.weight_of[token * params.spec.chosen + static_cast<std::int64_t>(rank)] =
        static_cast<float>(weights[rank] / divisor * params.spec.scale);
  }
}

}  // namespace

void route(const CudaRouteParams& params) {
  for (std::int64_t t = 0; t < params.rows; ++t) choose_experts(params, t);
  const DeviceRouting& routing = params.routing;
  std::int32_t place = 0;
  for (std::int32_t e = 0; e < params.experts; ++e) {
    routing.starts[e] = place;
    for (std::int32_t c = 0; c < params.rows * params.spec.chosen; ++c) {
      if (routing.expert_of[c] != e) continue;
      routing.order[place] = c;
      routing.token_of[place] = c / params.spec.chosen;
      routing.place_of[c] = place++;
    }
  }
  routing.starts[params.experts] = place;
}

void expert_linear(const CudaExpertLinearParams& params) {
  for (std::int32_t e = 0; e < params.experts; ++e) {
    CudaLinearParams linear = params.linear;
    linear.weight = params.weights[e];
    linear.bias = params.biases != nullptr ? params.biases[e] : nullptr;
    linear.input_rows = params.gathers ? params.routing.token_of : nullptr;
    for (std::int32_t c = params.routing.starts[e]; c < params.routing.starts[e + 1]; ++c) {
      for (std::int64_t n = 0; n < linear.weight.outputs; ++n) {
        put(linear.out, c, n, test::linear_output(linear, c, n));
      }
    }
  }
}

void combine(const CudaCombineParams& params) {
  for (std::int64_t t = 0; t < params.rows; ++t) {
    for (std::int64_t i = 0; i < params.out.width; ++i) {
      double value = params.residual.data != nullptr ? at(params.residual, t, i) : 0;
      for (std::int64_t c = t * params.chosen; c < (t + 1) * params.chosen; ++c) {
        value += params.routing.weight_of[c] * at(params.in, params.routing.place_of[c], i);
      }
      put(params.out, t, i, value);
    }
  }
}

}  // namespace weft::cuda::reference
