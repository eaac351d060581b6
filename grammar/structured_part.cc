#include "weft/grammar/structured_part.h"

#include <string>

#include "weft/core/text/utf8.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"

namespace weft::grammar {
namespace {

Result<GrammarBuilder::Part> choice_part(GrammarBuilder& builder, const StructuredOutput& output) {
  if (output.choices.empty()) {
    return Error{GrammarErrc::kBadGrammar, output.name + ": there is no choice"};
  }
  if (output.choices.size() > defaults::kMaxChoices) {
    return Error{GrammarErrc::kTooComplex,
                 output.name + ": more than " + std::to_string(defaults::kMaxChoices) + " choices"};
  }
  for (std::size_t i = 0; i < output.choices.size(); ++i) {
    if (is_utf8(output.choices[i])) continue;
    return Error{GrammarErrc::kBadGrammar,
                 output.name + "[" + std::to_string(i) + "]: is not UTF-8"};
  }
  return builder.choice(output.choices);
}

}  // namespace

Result<GrammarBuilder::Part> structured_part(GrammarBuilder& builder,
                                             const StructuredOutput& output) {
  switch (output.kind) {
    case StructuredOutput::Kind::kJsonObject:
      return builder.json_object();
    case StructuredOutput::Kind::kJsonSchema:
      return builder.json_schema(output.text, output.name,
                                 output.strict ? Strictness::kStrict : Strictness::kLenient);
    case StructuredOutput::Kind::kRegex:
      return builder.regex(output.text);
    case StructuredOutput::Kind::kChoice:
      return choice_part(builder, output);
    case StructuredOutput::Kind::kText:
      return builder.grammar_text(output.text);
    case StructuredOutput::Kind::kGrammar:
      if (output.grammar) return builder.grammar(*output.grammar);
      break;
    case StructuredOutput::Kind::kNone:
      break;
  }
  return Error{GrammarErrc::kBadGrammar, "there is no grammar"};
}

std::string key_of(const StructuredOutput& output) {
  if (output.kind == StructuredOutput::Kind::kGrammar && output.text.empty()) return {};
  std::string key(1, static_cast<char>('0' + static_cast<int>(output.kind)));
  // Unenforced places are named by the field that the schema came in.
  if (output.kind == StructuredOutput::Kind::kJsonSchema && !output.strict)
    key += 'l' + output.name + '\0';
  key += output.text;
  for (const std::string& choice : output.choices) {
    key += '\0' + std::to_string(choice.size()) + ':' + choice;
  }
  return key;
}

}  // namespace weft::grammar
