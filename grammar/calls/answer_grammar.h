#pragma once

#include <memory>
#include <span>
#include <string>

#include "weft/core/error/error.h"
#include "weft/grammar/calls/answer_form.h"
#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// The grammar of all outputs of a form: thoughts, which are free, and then what was asked for.
/// `special` are the texts of the special tokens that the format's tags are made of. Errors: those
/// of GrammarErrc; the detail names the tool's schema, or the field that says how answers look.
[[nodiscard]] Result<std::shared_ptr<const Grammar>> answer_grammar(
    const AnswerForm& form, std::span<const std::string> special);

/// All that decides it; empty for what is not to be kept.
[[nodiscard]] std::string key_of(const AnswerForm& form);

}  // namespace weft::grammar
