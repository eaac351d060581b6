#include "weft/sampling/steps/logit_edits.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <initializer_list>

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

namespace {

void mask_by_bits(std::span<float> logits, std::span<const std::uint32_t> bits) {
  const std::size_t covered = std::min(logits.size(), bits.size() * 32);
  for (std::size_t first = 0; first < covered; first += 32) {
    const auto word = logits.subspan(first, std::min<std::size_t>(32, covered - first));
    const std::uint32_t allowed = bits[first / 32];
    if (allowed == 0) {
      std::ranges::fill(word, kMinusInfinity);
      continue;
    }
    for (std::uint32_t rest = ~allowed; rest != 0; rest &= rest - 1) {
      const auto index = static_cast<std::size_t>(std::countr_zero(rest));
      if (index < word.size()) word[index] = kMinusInfinity;
    }
  }
  std::ranges::fill(logits.subspan(covered), kMinusInfinity);
}

/// Calls `each` with the tokens of all lists.
template <class Each>
void for_each_token(std::initializer_list<std::span<const TokenId>> lists, const Each& each) {
  for (const auto list : lists) std::ranges::for_each(list, each);
}

}  // namespace

void apply_constraint(std::span<float> logits, const AllowedTokens& allowed,
                      const EndingTokens& ends, std::span<std::uint64_t> kept) {
  std::size_t count = 0;
  // Lists may name a token many times; a token that finds no room has been kept already.
  const auto keep = [&](TokenId token) {
    if (count < kept.size()) kept[count] = std::bit_cast<std::uint32_t>(at(logits, token));
    ++count;
  };
  const auto put_back = [&](TokenId token) {
    if (count < kept.size()) {
      at(logits, token) = std::bit_cast<float>(static_cast<std::uint32_t>(kept[count]));
    }
    ++count;
  };
  auto listed = allowed.bits.empty() ? allowed.tokens : std::span<const TokenId>();
  // A tokenizer may have more tokens than the model has logits.
  const auto beyond = std::ranges::lower_bound(listed, static_cast<TokenId>(logits.size()));
  listed = listed.first(static_cast<std::size_t>(beyond - listed.begin()));
  for_each_token({listed, ends.of_model, ends.of_request}, keep);
  mask_by_bits(logits, allowed.bits);
  count = 0;
  for_each_token({listed}, put_back);
  if (allowed.may_end) {
    for_each_token({ends.of_model, ends.of_request}, put_back);
  } else {
    mask_tokens(logits, ends.of_model);
    mask_tokens(logits, ends.of_request);
  }
}

namespace {

constexpr std::size_t kMaskBits = 32;

std::uint32_t& word_of(std::span<std::uint32_t> mask, TokenId token) {
  return mask[static_cast<std::size_t>(token) / kMaskBits];
}

constexpr std::uint32_t bit_of(TokenId token) {
  return 1U << static_cast<std::size_t>(token) % kMaskBits;
}

}  // namespace

void write_constraint(std::span<std::uint32_t> mask, std::size_t vocabulary,
                      const AllowedTokens& allowed, const EndingTokens& ends) {
  const std::size_t covered = std::min(mask.size(), allowed.bits.size());
  std::ranges::copy(allowed.bits.first(covered), mask.begin());
  std::ranges::fill(mask.subspan(covered), 0U);
  const auto set = [&](TokenId token) { word_of(mask, token) |= bit_of(token); };
  if (allowed.bits.empty()) {
    // A tokenizer may have more tokens than the model has logits.
    for (const TokenId token : allowed.tokens) {
      if (static_cast<std::size_t>(token) < vocabulary) set(token);
    }
  }
  if (const std::size_t beyond = vocabulary % kMaskBits; beyond != 0) {
    mask.back() &= (1U << beyond) - 1;
  }
  if (allowed.may_end) {
    for_each_token({ends.of_model, ends.of_request}, set);
  } else {
    unset_tokens(mask, ends.of_model);
    unset_tokens(mask, ends.of_request);
  }
}

void unset_tokens(std::span<std::uint32_t> mask, std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) word_of(mask, token) &= ~bit_of(token);
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
