#include "weft/sampling/drafters/draft_text.h"

namespace weft {

DraftText::DraftText(std::span<const TokenId> tokens, std::size_t vocabulary)
    : history_(vocabulary, tokens.size()) {
  for (const TokenId token : tokens) {
    if (token >= 0 && static_cast<std::size_t>(token) < vocabulary) history_.push(token);
  }
}

std::int32_t DraftText::last(TokenId token) const {
  const sampling::TokenCount* const count = history_.find(token);
  return count == nullptr ? kNowhere : count->last;
}

}  // namespace weft
