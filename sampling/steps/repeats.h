#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/sampling/defaults.h"
#include "weft/sampling/token_history.h"

namespace weft::sampling {

/// Calls `visit(next, length)` for each earlier position where the text ended as it ends now:
/// `next` is the token that followed there, and `length` (1 .. max_length) is how many tokens
/// before it equal the last tokens of the text. Visits positions from `begin` on, the latest first,
/// at most defaults::kMaxOccurrences.
template <class Visit>
void for_each_repeat(const TokenHistory& history, std::size_t begin, std::size_t max_length,
                     const Visit& visit) {
  const auto tokens = history.tokens();
  if (tokens.empty() || max_length == 0) return;
  const std::size_t end = tokens.size() - 1;
  std::int32_t at = history.previous(end);
  for (std::size_t seen = 0; at != TokenHistory::kNowhere && seen < defaults::kMaxOccurrences;
       ++seen) {
    const auto position = static_cast<std::size_t>(at);
    if (position < begin) return;
    const std::size_t longest = std::min(max_length, position - begin + 1);
    std::size_t length = 1;
    while (length < longest && tokens[position - length] == tokens[end - length]) ++length;
    visit(tokens[position + 1], length);
    at = history.previous(position);
  }
}

}  // namespace weft::sampling
