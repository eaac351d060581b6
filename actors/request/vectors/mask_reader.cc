#include "weft/actors/request/vectors/mask_reader.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "weft/sampling/steps/softmax.h"

namespace weft {
namespace {

/// Returns the tokens' text; empty for tokens that the tokenizer does not know.
std::string text_of(const Tokenizer& tokenizer, std::span<const TokenId> ids, bool skip_special) {
  auto text = tokenizer.decode(ids, skip_special);
  return text ? *std::move(text) : std::string();
}

}  // namespace

std::vector<std::int32_t> mask_positions(std::span<const TokenId> prompt, TokenId mask) {
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] == mask) positions.push_back(static_cast<std::int32_t>(i));
  }
  return positions;
}

// A checkpoint may have more rows than its tokenizer has tokens, and a tokenizer ids without a
// token: their logits count in the softmax and are never offered.
std::vector<TokenScore> likeliest_tokens(const Tokenizer& tokenizer, std::span<const float> logits,
                                         std::size_t count) {
  const sampling::Softmax softmax = sampling::softmax_of(logits);
  if (softmax.empty()) return {};
  const auto logit = [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
  std::vector<TokenId> ids;
  const std::size_t known = std::min(logits.size(), tokenizer.vocabulary_size());
  ids.reserve(known);
  for (TokenId id = 0; static_cast<std::size_t>(id) < known; ++id) {
    if (!std::isnan(logit(id)) && tokenizer.token(id)) ids.push_back(id);
  }
  const auto best = std::span(ids).first(std::min(count, ids.size()));
  std::ranges::partial_sort(ids, ids.begin() + std::ssize(best), [&](TokenId a, TokenId b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  });
  std::vector<TokenScore> scores;
  for (const TokenId id : best) {
    scores.push_back({id, std::exp(sampling::logprob_of(softmax, logit(id)))});
  }
  return scores;
}

MaskReader::MaskReader(Tokenizer tokenizer, std::vector<TokenId> prompt, std::int32_t top_k)
    : tokenizer_(std::move(tokenizer)),
      prompt_(std::move(prompt)),
      masks_(mask_positions(prompt_, tokenizer_.mask())),
      top_k_(static_cast<std::size_t>(top_k)),
      choices_(masks_.size()),
      is_read_(masks_.size()) {}

void MaskReader::read(const TokenActivations& token) {
  const auto found = std::ranges::lower_bound(masks_, token.position);
  if (found == masks_.end() || *found != token.position) return;
  const auto mask = static_cast<std::size_t>(found - masks_.begin());
  choices_[mask] = likeliest_tokens(tokenizer_, token.logits, top_k_);
  is_read_[mask] = true;
}

bool MaskReader::complete() const noexcept {
  return std::ranges::all_of(is_read_, std::identity());
}

bool MaskReader::lacks_numbers() const noexcept {
  return std::ranges::any_of(choices_, [](const auto& one) { return one.empty(); });
}

// As in transformers' task "fill-mask": with several masks, special tokens are kept in the text.
MaskFill MaskReader::fill(std::size_t mask, const TokenScore& choice,
                          std::vector<TokenId>& prompt) const {
  TokenId& place = prompt[static_cast<std::size_t>(masks_[mask])];
  const TokenId before = std::exchange(place, choice.token);
  MaskFill filled{choice.token, choice.score, text_of(tokenizer_, std::span(&place, 1), false),
                  text_of(tokenizer_, prompt, masks_.size() == 1)};
  place = before;
  return filled;
}

void MaskReader::give(Finish& finish) const {
  std::vector<TokenId> prompt = prompt_;
  for (std::size_t mask = 0; mask < choices_.size(); ++mask) {
    std::vector<MaskFill>& fills = finish.masks.emplace_back();
    for (const TokenScore& choice : choices_[mask]) fills.push_back(fill(mask, choice, prompt));
  }
}

}  // namespace weft
