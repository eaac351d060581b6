#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/token.h"
#include "weft/grammar/engine/token_trie.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// When thoughts must end, and how they are recognized.
struct ThinkingBudget {
  std::int32_t tokens = 0;  ///< of thoughts; after them only `ending` is allowed
  std::string open, close;  ///< what begins a thought and what ends it, not empty
  bool in_thought = false;  ///< the prompt has opened one
  bool anywhere = false;    ///< thoughts may begin behind any text
  /// Where not: behind these, as at the output's beginning and behind another thought.
  std::vector<std::string> renewals{};
  std::vector<TokenId> ending;                           ///< which spells `close`
  std::vector<std::pair<TokenId, std::string>> special;  ///< of the tags: tokens without bytes
};

/// Holds outputs to a budget of thoughts and to `inner`, which must allow the ending behind whole
/// characters of a thought; null: only to the budget. A cut thought ends behind a whole character.
/// Steps take the time of `inner`'s; defaults::kMaxRollback of them can be taken back.
[[nodiscard]] std::shared_ptr<const TokenConstraint> with_budget(
    std::shared_ptr<const TokenConstraint> inner, std::shared_ptr<const TokenTrie> trie,
    ThinkingBudget budget);

}  // namespace weft::grammar
