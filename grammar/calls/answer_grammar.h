#pragma once

#include <memory>
#include <span>
#include <string>

#include "weft/core/error/error.h"
#include "weft/grammar/calls/answer_form.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// Returns the grammar of all outputs of a form: free thoughts, then the requested calls or answer.
/// `special` has the texts of special tokens that are part of the format's tags. Errors: those of
/// GrammarErrc; the detail names the tool's schema, or the field with the answer's form.
[[nodiscard]] Result<std::shared_ptr<const Grammar>> answer_grammar(
    const AnswerForm& form, std::span<const std::string> special);

/// Returns the cache key, which holds everything that decides the grammar; empty for a grammar that
/// is not cached.
[[nodiscard]] std::string key_of(const AnswerForm& form);

}  // namespace weft::grammar
