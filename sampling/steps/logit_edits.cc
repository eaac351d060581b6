#include "weft/sampling/steps/logit_edits.h"

#include <algorithm>
#include <cstddef>

#include "weft/sampling/steps/softmax.h"

namespace weft::sampling {
namespace {

float& at(std::span<float> logits, TokenId token) {
  return logits[static_cast<std::size_t>(token)];
}

}  // namespace

void add_logit_bias(std::span<float> logits, std::span<const LogitBias> biases) {
  for (const LogitBias& entry : biases) at(logits, entry.token) += entry.bias;
}

void mask_tokens(std::span<float> logits, std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) at(logits, token) = kMinusInfinity;
}

void mask_all_but(std::span<float> logits, std::span<const TokenId> allowed,
                  std::span<float> kept) {
  for (std::size_t i = 0; i < allowed.size(); ++i) kept[i] = at(logits, allowed[i]);
  std::ranges::fill(logits, kMinusInfinity);
  for (std::size_t i = 0; i < allowed.size(); ++i) at(logits, allowed[i]) = kept[i];
}

void apply_penalties(std::span<float> logits, const PenaltyParams& params,
                     std::span<const TokenCount> counts) {
  for (const TokenCount& count : counts) {
    if (count.in_window == 0) continue;
    float& logit = at(logits, count.token);
    logit = logit > 0 ? logit / params.repetition : logit * params.repetition;
    if (count.output_in_window == 0) continue;
    logit -= params.frequency * static_cast<float>(count.output_in_window) + params.presence;
  }
}

}  // namespace weft::sampling
