#pragma once

#include <string>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/structured_output.h"

namespace weft::grammar {

/// The part of what a request says that an output must look like, which is not kNone. Errors: those
/// of GrammarErrc.
[[nodiscard]] Result<GrammarBuilder::Part> structured_part(GrammarBuilder& builder,
                                                           const StructuredOutput& output);

/// All that decides what is compiled; empty for what is not to be kept.
[[nodiscard]] std::string key_of(const StructuredOutput& output);

}  // namespace weft::grammar
