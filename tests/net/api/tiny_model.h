#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/loading/served_model.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft::test {

/// Ids of the tiny vocabulary: three special tokens, a token for each byte, "▁", the small letters,
/// "▁a" and "ab".
inline constexpr TokenId kByteTokens = 3;
inline constexpr TokenId kSpaceToken = 259;
inline constexpr TokenId kLetterTokens = 260;
inline constexpr TokenId kSpaceAToken = 286;
inline constexpr TokenId kAbToken = 287;
inline constexpr std::int64_t kTinyVocabulary = 288;

inline Vocabulary tiny_vocabulary() {
  Vocabulary vocabulary;
  vocabulary.model = Vocabulary::Model::kSentencePieceBpe;
  using Type = Vocabulary::TokenType;
  const auto add = [&](std::string text, Type type, float score) {
    vocabulary.tokens.push_back(std::move(text));
    vocabulary.types.push_back(type);
    vocabulary.scores.push_back(score);
  };
  add("<unk>", Type::kUnknown, 0);
  add("<s>", Type::kControl, 0);
  add("</s>", Type::kControl, 0);
  for (unsigned byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    add(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">", Type::kByte, 0);
  }
  add("\u2581", Type::kNormal, -1);
  for (char letter = 'a'; letter <= 'z'; ++letter) add({letter}, Type::kNormal, -1);
  add("\u2581a", Type::kNormal, -2);
  add("ab", Type::kNormal, -3);
  vocabulary.special.unknown = 0;
  vocabulary.special.bos = 1;
  vocabulary.special.eos = 2;
  vocabulary.add_bos = true;
  return vocabulary;
}

/// A model whose vocabulary is words of small letters, with a template that prints its input.
inline ServedModel tiny_model(std::int64_t context = 64) {
  constexpr std::string_view kTemplate =
      "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
      "{% if add_generation_prompt %}go{% endif %}";
  Vocabulary vocabulary = tiny_vocabulary();
  vocabulary.chat_template = kTemplate;
  ServedModel model{.tokenizer = Tokenizer::from_vocabulary(vocabulary, "tiny").value()};
  model.vocabulary = kTinyVocabulary;
  model.context = context;
  model.end_tokens = {2};
  return model;
}

}  // namespace weft::test
