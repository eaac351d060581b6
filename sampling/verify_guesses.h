#pragma once

#include <cstddef>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// Verifies the guesses of an entry (PlanEntry::guesses), for any device. A token is chosen behind
/// the sequence's newest token, and one behind each right guess. A guess is right if it is the
/// token chosen at its position.
///
/// `choose(right, guess)` chooses and returns the token behind `right` right guesses, as without
/// guesses: by that position's logits and random number, after all that the request's parameters
/// do. `guess` is what was guessed of it; kNoToken: nothing. `take(guess)` is called once a guess
/// is right, so a sampler's state (penalties, a grammar's matcher, Mirostat) advances by accepted
/// tokens alone.
///
/// So the text is the same, bit by bit, with and without guesses, whatever is guessed. It is exact
/// rejection sampling, too: where a drafter names one token x, q(x) = 1, rejection sampling
/// (Leviathan et al., arXiv 2211.17192, section 2.3) accepts x with probability min(1, p(x) / q(x))
/// = p(x), and else draws from p without x, scaled to sum up to 1. Drawing t from p accepts x = t
/// with probability p(x), and a t that is not x has just that distribution.
template <class Choose, class Take>
void verify_guesses(std::span<const TokenId> guesses, Choose choose, Take take) {
  for (std::size_t right = 0;; ++right) {
    const TokenId guess = right < guesses.size() ? guesses[right] : kNoToken;
    const TokenId token = choose(right, guess);
    if (guess == kNoToken || token != guess) return;
    take(guess);
  }
}

}  // namespace weft
