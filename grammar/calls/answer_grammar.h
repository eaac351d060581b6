#pragma once

#include <memory>
#include <span>
#include <string>

#include "weft/core/error/error.h"
#include "weft/grammar/calls/answer_form.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// The grammar of all outputs of a form: free thoughts, then the requested calls or answer.
/// `special`: the texts of the special tokens that the format's tags are made of. Errors: those of
/// GrammarErrc; the detail names the tool's schema, or the field with the answer's form.
[[nodiscard]] Result<std::shared_ptr<const Grammar>> answer_grammar(
    const AnswerForm& form, std::span<const std::string> special);

/// The cache key: everything that decides the grammar; empty for a grammar that is not kept.
[[nodiscard]] std::string key_of(const AnswerForm& form);

}  // namespace weft::grammar
