#include "weft/grammar/grammar_builder.h"
#include "weft/grammar/grammar_error.h"

namespace weft {

Result<GrammarBuilder::Part> GrammarBuilder::grammar_text(std::string_view) {
  return Error{GrammarErrc::kBadGrammar, "grammars are not supported"};
}

}  // namespace weft
