#include "weft/model/convert/gguf_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft {
namespace {

using Model = Vocabulary::Model;
using TokenType = Vocabulary::TokenType;

std::string_view model_name(Model model) {
  switch (model) {
    case Model::kByteLevelBpe:
      return "gpt2";
    case Model::kSentencePieceBpe:
      return "llama";
    case Model::kLineBpe:
      return "gemma4";
    case Model::kUnigram:
      return "t5";
    case Model::kWordPiece:
      break;
  }
  return "bert";
}

/// Returns the type of a token if the vocabulary does not state it.
TokenType guess_type(const Vocabulary& vocabulary, std::size_t id) {
  const auto token = static_cast<TokenId>(id);
  if (token == vocabulary.special.unknown) return TokenType::kUnknown;
  const auto special = vocabulary.special.all();
  if (std::ranges::find(special, token) != special.end()) return TokenType::kControl;
  return parse_byte_token(vocabulary.tokens[id]) ? TokenType::kByte : TokenType::kNormal;
}

std::vector<std::int32_t> types_of(const Vocabulary& vocabulary) {
  std::vector<std::int32_t> types;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenType type =
        vocabulary.types.empty() ? guess_type(vocabulary, id) : vocabulary.types[id];
    types.push_back(static_cast<std::int32_t>(type));
  }
  return types;
}

void add_roles(const SpecialTokens& special, boost::json::object& values) {
  const auto add = [&](const char* key, TokenId id) {
    if (id != kNoToken) values[key] = id;
  };
  add("tokenizer.ggml.bos_token_id", special.bos);
  add("tokenizer.ggml.eos_token_id", special.eos);
  add("tokenizer.ggml.unknown_token_id", special.unknown);
  add("tokenizer.ggml.seperator_token_id", special.separator);  // the format's own spelling
  add("tokenizer.ggml.padding_token_id", special.padding);
  add("tokenizer.ggml.cls_token_id", special.classifier);
  add("tokenizer.ggml.mask_token_id", special.mask);
}

void add_tables(const Vocabulary& vocabulary, GgufTokenizer& to) {
  to.values["tokenizer.ggml.model"] = model_name(vocabulary.model);
  if (!vocabulary.pre.empty()) to.values["tokenizer.ggml.pre"] = vocabulary.pre;
  add_roles(vocabulary.special, to.values);
  to.values["tokenizer.ggml.add_bos_token"] = vocabulary.add_bos;
  to.values["tokenizer.ggml.add_eos_token"] = vocabulary.add_eos;
  if (vocabulary.model != Model::kByteLevelBpe)
    to.values["tokenizer.ggml.add_space_prefix"] = vocabulary.add_space_prefix;
  if (vocabulary.remove_extra_whitespaces)
    to.values["tokenizer.ggml.remove_extra_whitespaces"] = true;
  if (!vocabulary.chat_template.empty())
    to.values["tokenizer.chat_template"] = vocabulary.chat_template;
  if (!vocabulary.tool_chat_template.empty())
    to.values["tokenizer.chat_template.tool_use"] = vocabulary.tool_chat_template;
  const std::vector<std::int32_t> types = types_of(vocabulary);
  to.lists.push_back(gguf_list("tokenizer.ggml.tokens", vocabulary.tokens));
  to.lists.push_back(gguf_list("tokenizer.ggml.token_type", types));
  if (!vocabulary.scores.empty())
    to.lists.push_back(gguf_list("tokenizer.ggml.scores", vocabulary.scores));
  if (!vocabulary.merges.empty())
    to.lists.push_back(gguf_list("tokenizer.ggml.merges", vocabulary.merges));
}

}  // namespace

GgufTokenizer gguf_tokenizer(const Vocabulary* vocabulary,
                             std::span<const std::int64_t> end_tokens) {
  GgufTokenizer tokenizer;
  if (vocabulary == nullptr) {
    tokenizer.values["tokenizer.ggml.model"] = "none";
  } else {
    add_tables(*vocabulary, tokenizer);
  }
  const std::int64_t own = vocabulary == nullptr ? kNoToken : vocabulary->special.eos;
  const bool keeps_own = std::ranges::find(end_tokens, own) != end_tokens.end();
  if (!end_tokens.empty())
    tokenizer.values["tokenizer.ggml.eos_token_id"] = keeps_own ? own : end_tokens.front();
  for (const std::int64_t token : end_tokens) {
    if (tokenizer.values.at("tokenizer.ggml.eos_token_id") == token) continue;
    tokenizer.values["tokenizer.ggml.eot_token_id"] = token;
    break;
  }
  return tokenizer;
}

}  // namespace weft
