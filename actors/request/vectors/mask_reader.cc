#include "weft/actors/request/vectors/mask_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace weft {
namespace {

/// Empty for tokens that the tokenizer does not know.
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

MaskReader::MaskReader(Tokenizer tokenizer, std::vector<TokenId> prompt, std::int32_t top_k)
    : tokenizer_(std::move(tokenizer)),
      prompt_(std::move(prompt)),
      masks_(mask_positions(prompt_, tokenizer_.mask())),
      top_k_(static_cast<std::size_t>(top_k)),
      choices_(masks_.size()) {}

void MaskReader::read(const TokenActivations& token) {
  const auto found = std::ranges::lower_bound(masks_, token.position);
  if (found == masks_.end() || *found != token.position) return;
  choices_[static_cast<std::size_t>(found - masks_.begin())] = likeliest(token.logits);
}

// A checkpoint may have more rows than its tokenizer has tokens: they count in the sum alone.
std::vector<MaskReader::Choice> MaskReader::likeliest(std::span<const float> logits) const {
  std::vector<TokenId> ids(std::min(logits.size(), tokenizer_.vocabulary_size()));
  std::iota(ids.begin(), ids.end(), TokenId{0});
  const auto logit = [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
  const auto count = static_cast<std::ptrdiff_t>(std::min(top_k_, ids.size()));
  std::ranges::partial_sort(ids, ids.begin() + count, [&](TokenId a, TokenId b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  });
  const float most = std::ranges::max(logits);
  double sum = 0;
  for (const float one : logits) sum += std::exp(static_cast<double>(one - most));
  std::vector<Choice> choices;
  for (const TokenId id : std::span(ids).first(static_cast<std::size_t>(count))) {
    const double weight = std::exp(static_cast<double>(logit(id) - most));
    choices.push_back({id, static_cast<float>(weight / sum)});
  }
  return choices;
}

bool MaskReader::complete() const noexcept {
  return std::ranges::none_of(choices_, [](const auto& one) { return one.empty(); });
}

// As transformers' task "fill-mask" has it: beside other masks, special tokens are not left out.
MaskFill MaskReader::fill(std::size_t mask, const Choice& choice,
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
    for (const Choice& choice : choices_[mask]) fills.push_back(fill(mask, choice, prompt));
  }
}

}  // namespace weft
