#pragma once

#include <string>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/structured_output.h"

namespace weft::grammar {

/// Returns the grammar part for a request's structured output, which is not kNone. Errors: those of
/// GrammarErrc.
[[nodiscard]] Result<GrammarBuilder::Part> structured_part(GrammarBuilder& builder,
                                                           const StructuredOutput& output);

/// Returns the cache key, which holds everything that decides the result; empty where the result is
/// not cached.
[[nodiscard]] std::string key_of(const StructuredOutput& output);

}  // namespace weft::grammar
