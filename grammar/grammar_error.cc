#include "weft/grammar/grammar_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kGrammarErrors = {
    ErrorText{static_cast<int>(GrammarErrc::kBadSchema), "bad_schema", "not a JSON schema"},
    ErrorText{static_cast<int>(GrammarErrc::kUnsupportedSchema), "unsupported_schema",
              "the schema has a part that structured output does not support"},
    ErrorText{static_cast<int>(GrammarErrc::kBadRegex), "bad_regex",
              "not a regular expression that structured output supports"},
    ErrorText{static_cast<int>(GrammarErrc::kBadGrammar), "bad_grammar",
              "not a grammar that structured output supports"},
    ErrorText{static_cast<int>(GrammarErrc::kTooComplex), "too_complex",
              "the structured output is too complex"},
    ErrorText{static_cast<int>(GrammarErrc::kNoEndToken), "no_end_token",
              "structured output needs a model with an end token"},
    ErrorText{static_cast<int>(GrammarErrc::kNoRoom), "no_room",
              "structured outputs take all of structured.memory_bytes; try again later"},
};

constexpr TableCategory kGrammarCategory(0x71c83be5a90f42d6, "weft.grammar", kGrammarErrors);

}  // namespace

const TableCategory& grammar_category() noexcept { return kGrammarCategory; }

boost::system::error_code make_error_code(GrammarErrc code) noexcept {
  return {static_cast<int>(code), grammar_category()};
}

}  // namespace weft
