#pragma once

#include "weft/core/error/error.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// Removes alternatives that match no text, so that every text that has begun can be completed.
/// Refuses with kBadGrammar a grammar without any text, with an undefined rule, or with a rule that
/// begins with itself. Takes time linear in the grammar.
[[nodiscard]] Result<void> check_and_prune(GrammarData& data);

}  // namespace weft::grammar
