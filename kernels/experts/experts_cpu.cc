#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weft/kernels/cpu_ops.h"

namespace weft {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

using Numbers = std::array<float, kMaxExperts>;

/// Scratch numbers for choosing one token's experts.
struct TokenScores {
  Numbers weight;  ///< an expert's weight if it is chosen
  Numbers choice;  ///< the key that experts are chosen by; kNever if taken or NaN
  std::array<bool, kMaxExperts> out;  ///< taken, or in a group that is left out
};

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

void softmax(std::span<float> numbers) {
  const float best = *std::ranges::max_element(numbers);
  float sum = 0;
  for (float& number : numbers) {
    number = std::exp(number - best);
    sum += number;
  }
  for (float& number : numbers) number /= sum;
}

void score_experts(const RouteParams& params, std::span<const float> scores, TokenScores& token) {
  const std::size_t experts = scores.size();
  const std::span weight = std::span(token.weight).first(experts);
  std::ranges::copy(scores, weight.begin());
  if (params.spec.kind == RouterKind::kSoftmaxThenTopK) softmax(weight);
  if (params.spec.kind == RouterKind::kSigmoid)
    std::ranges::transform(weight, weight.begin(), sigmoid);
  for (std::size_t e = 0; e < experts; ++e) {
    const float choice =
        weight[e] + (params.selection_bias != nullptr ? params.selection_bias[e] : 0.0F);
    token.choice[e] = std::isnan(choice) ? kNever : choice;
    token.out[e] = false;
  }
}

/// The sum of the `best` highest keys of a group.
float group_score(std::span<const float> choices, std::int32_t best) {
  std::array<bool, kMaxExperts> taken{};
  float sum = 0;
  for (std::int32_t i = 0; i < best; ++i) {
    std::size_t highest = choices.size();
    for (std::size_t e = 0; e < choices.size(); ++e) {
      if (!taken[e] && (highest == choices.size() || choices[e] > choices[highest])) highest = e;
    }
    taken[highest] = true;
    sum += choices[highest];
  }
  return sum;
}

/// Leaves out all experts except those of the best groups; ties go to the lower group.
void keep_best_groups(const RouteParams& params, std::size_t experts, TokenScores& token) {
  const auto groups = static_cast<std::size_t>(params.spec.groups);
  if (params.spec.chosen_groups == params.spec.groups) return;
  const std::size_t size = experts / groups;
  Numbers score;
  std::array<bool, kMaxExperts> kept{};
  for (std::size_t g = 0; g < groups; ++g) {
    score[g] = group_score(std::span(token.choice).subspan(g * size, size), params.spec.group_best);
  }
  for (std::int32_t i = 0; i < params.spec.chosen_groups; ++i) {
    std::size_t best = groups;
    for (std::size_t g = 0; g < groups; ++g) {
      if (!kept[g] && (best == groups || score[g] > score[best])) best = g;
    }
    kept[best] = true;
  }
  for (std::size_t e = 0; e < experts; ++e) token.out[e] = !kept[e / size];
}

std::size_t take_best(std::size_t experts, TokenScores& token) {
  std::size_t best = experts;
  for (std::size_t e = 0; e < experts; ++e) {
    if (!token.out[e] && (best == experts || token.choice[e] > token.choice[best])) best = e;
  }
  token.out[best] = true;
  return best;
}

/// The softmax of the expert just taken, among the remaining experts within `margin` of it.
float weight_among_close(float margin, std::size_t experts, const TokenScores& token,
                         std::size_t taken) {
  const float best = token.choice[taken];
  float sum = 1;
  for (std::size_t e = 0; e < experts; ++e) {
    const float score = token.choice[e];
    const bool is_close = best - score <= margin * std::max(std::abs(score), best);
    if (!token.out[e] && is_close) sum += std::exp(score - best);
  }
  return 1 / sum;
}

void choose(const RouteParams& params, std::span<const float> scores,
            std::span<std::int32_t> expert_of, std::span<float> weight_of) {
  TokenScores token;
  score_experts(params, scores, token);
  keep_best_groups(params, scores.size(), token);
  for (std::size_t rank = 0; rank < expert_of.size(); ++rank) {
    const std::size_t expert = take_best(scores.size(), token);
    expert_of[rank] = static_cast<std::int32_t>(expert);
    weight_of[rank] = params.spec.kind == RouterKind::kSoftmaxOfClose
                          ? weight_among_close(params.spec.margin, scores.size(), token, expert)
                          : token.weight[expert];
  }
  if (params.spec.kind == RouterKind::kTopKThenSoftmax) softmax(weight_of);
  float divisor = 1;
  if (params.spec.normalize) {
    divisor = 0;
    for (const float weight : weight_of) divisor += weight;
    // All weights underflowed: they stay zero.
    if (divisor == 0) divisor = 1;
  }
  for (float& weight : weight_of) weight = weight / divisor * params.spec.scale;
  if (params.weight_scales == nullptr) return;
  for (std::size_t rank = 0; rank < weight_of.size(); ++rank) {
    weight_of[rank] *= params.weight_scales[expert_of[rank]];
  }
}

/// A counting sort, so that the choices of an expert ascend.
void sort_by_expert(const RouteParams& params, std::size_t choices) {
  const auto experts = static_cast<std::size_t>(params.scores.width);
  const auto starts = params.starts.first(experts + 1);
  std::ranges::fill(starts, 0);
  for (std::size_t c = 0; c < choices; ++c) {
    ++starts[static_cast<std::size_t>(params.expert_of[c]) + 1];
  }
  for (std::size_t e = 0; e < experts; ++e) starts[e + 1] += starts[e];
  // starts[e] moves to the end of e's choices, which is the start of e + 1's.
  for (std::size_t c = 0; c < choices; ++c) {
    const auto place =
        static_cast<std::size_t>(starts[static_cast<std::size_t>(params.expert_of[c])]++);
    params.order[place] = static_cast<std::int32_t>(c);
    params.token_of[place] = static_cast<std::int32_t>(c) / params.spec.chosen;
  }
  std::shift_right(starts.begin(), starts.end(), 1);
  starts[0] = 0;
}

}  // namespace

void cpu::route(const RouteParams& params) {
  const auto chosen = static_cast<std::size_t>(params.spec.chosen);
  const auto tokens = static_cast<std::size_t>(params.scores.count);
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::span scores(params.scores.row(static_cast<std::int64_t>(t)),
                           static_cast<std::size_t>(params.scores.width));
    choose(params, scores, params.expert_of.subspan(t * chosen, chosen),
           params.weight_of.subspan(t * chosen, chosen));
  }
  sort_by_expert(params, tokens * chosen);
}

void cpu::combine(const CombineParams& params, Share share) {
  const auto chosen = static_cast<std::size_t>(params.chosen);
  const std::int64_t width = params.out.width;
  const Share::Range tokens = share.of(params.out.count);
  for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
    float* out = params.out.row(t);
    if (params.residual.data == nullptr) {
      std::fill_n(out, width, 0.0F);
    } else if (params.residual.row(t) != out) {
      std::copy_n(params.residual.row(t), width, out);
    }
    for (std::size_t rank = 0; rank < chosen; ++rank) {
      const std::size_t choice = static_cast<std::size_t>(t) * chosen + rank;
      if (params.experts.count > 0 && !params.experts.has(params.expert_of[choice])) continue;
      const float weight = params.weight_of[choice];
      const float* in = params.in.row(params.place_of[choice]);
      for (std::int64_t i = 0; i < width; ++i) out[i] += weight * in[i];
    }
  }
}

}  // namespace weft
