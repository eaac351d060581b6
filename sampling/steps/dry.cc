#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weft/sampling/defaults.h"
#include "weft/sampling/steps/logit_edits.h"
#include "weft/sampling/steps/repeats.h"

namespace weft::sampling {
namespace {

static_assert(defaults::kMaxRepeatLength <= UINT8_MAX, "lengths are kept in bytes");

bool is_breaker(const DryParams& params, TokenId token) {
  return std::ranges::find(params.breakers, token) != params.breakers.end();
}

/// Returns how many last tokens, at most `most`, contain no breaker.
std::size_t unbroken(const DryParams& params, std::span<const TokenId> tokens, std::size_t most) {
  std::size_t length = 0;
  while (length < std::min(most, tokens.size()) &&
         !is_breaker(params, tokens[tokens.size() - 1 - length])) {
    ++length;
  }
  return length;
}

float penalty_of(const DryParams& params, std::size_t length) {
  // Repeated multiplication gives the same number on every processor.
  float penalty = params.multiplier;
  for (auto i = static_cast<std::size_t>(params.allowed_length); i < length; ++i) {
    penalty *= params.base;
  }
  // The penalty stays finite, since inf - inf would be NaN.
  return std::min(penalty, std::numeric_limits<float>::max());
}

}  // namespace

void apply_dry(std::span<float> logits, const DryParams& params, const TokenHistory& history,
               const DryScratch& scratch) {
  const auto tokens = history.tokens();
  const auto window = static_cast<std::size_t>(params.window);
  const std::size_t begin = window == 0 ? 0 : tokens.size() - std::min(window, tokens.size());
  const std::size_t longest =
      unbroken(params, tokens.subspan(begin), static_cast<std::size_t>(defaults::kMaxRepeatLength));
  const auto allowed = static_cast<std::size_t>(params.allowed_length);
  std::size_t touched = 0;
  for_each_repeat(history, begin, longest, [&](TokenId next, std::size_t length) {
    if (length < allowed || is_breaker(params, next)) return;
    std::uint8_t& known = scratch.lengths[static_cast<std::size_t>(next)];
    if (known == 0) scratch.touched[touched++] = next;
    known = std::max(known, static_cast<std::uint8_t>(length));
  });
  for (const TokenId token : scratch.touched.first(touched)) {
    std::uint8_t& length = scratch.lengths[static_cast<std::size_t>(token)];
    logits[static_cast<std::size_t>(token)] -= penalty_of(params, length);
    length = 0;
  }
}

}  // namespace weft::sampling
