#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/request/generation_result.h"
#include "weft/tests/net/api/tiny_model.h"

namespace weft::test {

/// The tiny model with a template that has tools, calls and thoughts, as Qwen's do.
inline ServedModel tool_model(std::int64_t context = 64) {
  constexpr std::string_view kTemplate =
      "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}:"
      "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
      "{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}"
      "</tool_call>{% endfor %};{% endfor %}{% if enable_thinking %}think{% endif %}";
  Vocabulary vocabulary = tiny_vocabulary();
  vocabulary.chat_template = kTemplate;
  ServedModel model{.tokenizer = Tokenizer::from_vocabulary(vocabulary, "tools").value()};
  model.vocabulary = kTinyVocabulary;
  model.context = context;
  model.end_tokens = {2};
  return model;
}

/// Makes a delta of these pieces, without tokens.
inline Delta typed_delta(std::initializer_list<std::pair<PieceKind, std::string_view>> pieces) {
  TypedText typed;
  for (const auto& [kind, text] : pieces) typed.add(kind, text);
  Delta delta;
  delta.text = typed.text();
  delta.marks.assign(typed.marks().begin(), typed.marks().end());
  return delta;
}

}  // namespace weft::test
