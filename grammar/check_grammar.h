#pragma once

#include "weft/core/error/error.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// Takes out alternatives that stand for no text, so that whatever has been begun can be ended, and
/// refuses with kBadGrammar a grammar without any text, with a rule that was not defined, or with
/// one that begins with itself. Linear in the grammar.
[[nodiscard]] Result<void> check_and_prune(GrammarData& data);

}  // namespace weft::grammar
