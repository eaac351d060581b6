#include "weft/actors/request/prompt_logprobs.h"

#include <algorithm>
#include <limits>

#include "weft/sampling/steps/softmax.h"
#include "weft/sampling/steps/top_tokens.h"

namespace weft {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

void PromptLogprobs::begin(std::span<const TokenId> prompt) {
  const std::size_t entries = prompt.empty() ? 0 : prompt.size() - 1;
  tokens_.assign(prompt.begin(), prompt.end());
  logprobs_.reserve(entries);
  ranks_.reserve(entries);
  top_.reserve(entries * static_cast<std::size_t>(top_count_));
  complete_.store(entries == 0, std::memory_order_release);
}

void PromptLogprobs::read(const TokenActivations& token) {
  const auto position = static_cast<std::size_t>(token.position);
  if (position != logprobs_.size() || position + 1 >= tokens_.size()) return;
  const std::span<const float> logits = token.logits;
  const sampling::Softmax softmax = sampling::softmax_of(logits);
  const float logit = logits[static_cast<std::size_t>(tokens_[position + 1])];
  const auto better = std::ranges::count_if(logits, [&](float other) { return other > logit; });
  const std::size_t first = top_.size();
  top_.resize(first + static_cast<std::size_t>(top_count_), {kNoToken, kNever});
  for (TokenLogprob& one : sampling::top_tokens(logits, std::span(top_).subspan(first))) {
    one.logprob = sampling::logprob_of(softmax, one.logprob);
  }
  ranks_.push_back(static_cast<std::int32_t>(better) + 1);
  logprobs_.push_back(softmax.empty() ? kNever : sampling::logprob_of(softmax, logit));
  if (logprobs_.size() + 1 == tokens_.size()) complete_.store(true, std::memory_order_release);
}

PromptLogprobs::Entry PromptLogprobs::entry(std::size_t index) const {
  const auto width = static_cast<std::size_t>(top_count_);
  return {logprobs_[index - 1], ranks_[index - 1],
          std::span(top_).subspan((index - 1) * width, width)};
}

}  // namespace weft
