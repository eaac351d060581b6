#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/token.h"
#include "weft/grammar/engine/token_trie.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// The bound on thoughts, and the texts by which thoughts are recognized.
struct ThinkingBudget {
  std::int32_t tokens = 0;  ///< the most tokens of thoughts; then only `ending` is allowed
  std::string open, close;  ///< the texts that begin and end a thought, not empty
  bool in_thought = false;  ///< the prompt has opened a thought
  bool anywhere = false;    ///< thoughts may begin after any text
  /// Where not `anywhere`, thoughts begin after these texts, at the output's beginning, and after
  /// another thought.
  std::vector<std::string> renewals{};
  std::vector<TokenId> ending;                           ///< the tokens that spell `close`
  std::vector<std::pair<TokenId, std::string>> special;  ///< special tokens in the tags, which have
                                                         ///< no bytes
};

/// Returns a constraint that enforces a budget of thoughts and `inner`. `inner` must allow the
/// ending after whole characters of a thought; null: only the budget is enforced. A cut thought
/// ends after a whole character. Steps take the time of `inner`'s; defaults::kMaxRollback of them
/// can be taken back.
[[nodiscard]] std::shared_ptr<const TokenConstraint> with_budget(
    std::shared_ptr<const TokenConstraint> inner, std::shared_ptr<const TokenTrie> trie,
    ThinkingBudget budget);

}  // namespace weft::grammar
