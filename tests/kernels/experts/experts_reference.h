#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "weft/kernels/experts/route_spec.h"

/// The choice of experts, as the papers say it, and the sum of their outputs in float64, for the
/// host as for CUDA.
namespace weft::test {

using Numbers = std::vector<double>;

inline void softmax_reference(Numbers& numbers) {
  const double best = *std::ranges::max_element(numbers);
  double sum = 0;
  for (double& number : numbers) sum += number = std::exp(number - best);
  for (double& number : numbers) number /= sum;
}

/// The places of the `count` greatest, ties to the lower place.
inline std::vector<std::size_t> best_places(const Numbers& numbers, std::int64_t count) {
  std::vector<std::size_t> places(numbers.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places,
                           [&](std::size_t a, std::size_t b) { return numbers[a] > numbers[b]; });
  places.resize(static_cast<std::size_t>(count));
  return places;
}

/// Experts that may be chosen: the experts of the best groups.
inline std::vector<bool> allowed_experts(const RouteSpec& spec, const Numbers& choice) {
  std::vector<bool> allowed(choice.size(), spec.groups == spec.chosen_groups);
  if (spec.groups == spec.chosen_groups) return allowed;
  const auto size = choice.size() / static_cast<std::size_t>(spec.groups);
  Numbers score;
  for (std::size_t first = 0; first < choice.size(); first += size) {
    const auto begin = choice.begin() + static_cast<std::ptrdiff_t>(first);
    const Numbers own(begin, begin + static_cast<std::ptrdiff_t>(size));
    score.push_back(0);
    for (const std::size_t e : best_places(own, spec.group_best)) score.back() += own[e];
  }
  for (const std::size_t group : best_places(score, spec.chosen_groups)) {
    for (std::size_t e = group * size; e < (group + 1) * size; ++e) allowed[e] = true;
  }
  return allowed;
}

/// The softmax of `best` among the remaining experts that are close to it.
inline double share_of_close(const RouteSpec& spec, const Numbers& choice,
                             const std::vector<bool>& left, std::size_t best) {
  double sum = 1;
  for (std::size_t e = 0; e < choice.size(); ++e) {
    const double distance = choice[best] - choice[e];
    const double most = spec.margin * std::max(std::abs(choice[e]), choice[best]);
    if (left[e] && distance <= most) sum += std::exp(-distance);
  }
  return 1 / sum;
}

struct ExpertChoice {
  std::int32_t expert = 0;
  double weight = 0;
};

/// A token's choices by its scores, best first, ties to the lower expert. `selection_bias` and
/// `weight_scales` as in RouteParams.
inline std::vector<ExpertChoice> route_reference(const RouteSpec& spec, const float* selection_bias,
                                                 const float* weight_scales, Numbers scores) {
  Numbers& weight = scores;
  if (spec.kind == RouterKind::kSoftmaxThenTopK) softmax_reference(weight);
  if (spec.kind == RouterKind::kSigmoid) {
    for (double& number : weight) number = 1 / (1 + std::exp(-number));
  }
  Numbers choice = weight;
  for (std::size_t e = 0; e < choice.size(); ++e) {
    if (selection_bias != nullptr) choice[e] += selection_bias[e];
    if (std::isnan(choice[e])) choice[e] = -std::numeric_limits<double>::infinity();
  }
  std::vector<bool> left = allowed_experts(spec, choice);
  std::vector<ExpertChoice> chosen;
  Numbers weights;
  for (std::int32_t rank = 0; rank < spec.chosen; ++rank) {
    std::size_t best = choice.size();
    for (std::size_t e = 0; e < choice.size(); ++e) {
      if (left[e] && (best == choice.size() || choice[e] > choice[best])) best = e;
    }
    left[best] = false;
    chosen.push_back({.expert = static_cast<std::int32_t>(best)});
    weights.push_back(spec.kind == RouterKind::kSoftmaxOfClose
                          ? share_of_close(spec, choice, left, best)
                          : weight[best]);
  }
  if (spec.kind == RouterKind::kTopKThenSoftmax) softmax_reference(weights);
  double divisor = spec.normalize ? std::accumulate(weights.begin(), weights.end(), 0.0) : 1;
  if (divisor == 0) divisor = 1;
  for (std::size_t rank = 0; rank < weights.size(); ++rank) {
    chosen[rank].weight = weights[rank] / divisor * spec.scale;
    if (weight_scales != nullptr) chosen[rank].weight *= weight_scales[chosen[rank].expert];
  }
  return chosen;
}

/// The choices sorted by expert, as RouteParams has them, and in `place_of` the inverse of `order`.
struct SortedChoices {
  std::vector<std::int32_t> starts, order, token_of, place_of;
};

inline SortedChoices sort_choices(std::span<const std::int32_t> expert_of, std::int64_t experts,
                                  std::int32_t chosen) {
  SortedChoices sorted;
  sorted.place_of.resize(expert_of.size());
  for (std::int32_t e = 0; e < experts; ++e) {
    sorted.starts.push_back(static_cast<std::int32_t>(sorted.order.size()));
    for (std::size_t c = 0; c < expert_of.size(); ++c) {
      if (expert_of[c] != e) continue;
      sorted.place_of[c] = static_cast<std::int32_t>(sorted.order.size());
      sorted.order.push_back(static_cast<std::int32_t>(c));
      sorted.token_of.push_back(static_cast<std::int32_t>(c) / chosen);
    }
  }
  sorted.starts.push_back(static_cast<std::int32_t>(sorted.order.size()));
  return sorted;
}

/// One number of a token's sum, before the residual is added: `at` gives the number of an expert's
/// output by its place, `weight_of` and `place_of` are those of all tokens' choices.
template <class At>
double combine_reference(std::int64_t token, std::int32_t chosen, const float* weight_of,
                         const std::int32_t* place_of, const At& at) {
  double sum = 0;
  for (std::int64_t c = token * chosen; c < (token + 1) * chosen; ++c) {
    sum += double{weight_of[c]} * at(place_of[c]);
  }
  return sum;
}

}  // namespace weft::test
