#include <boost/json/object.hpp>
#include <initializer_list>
#include <string>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/text_api.h"

namespace weft {
namespace {

namespace json = boost::json;

json::value text_or_null(const Tokenizer& tokenizer, TokenId id) {
  const auto text = tokenizer.token(id);
  return text ? json::value(*text) : json::value();
}

/// The special tokens by their ids, as tokenizer_config.json lists them.
json::object special_tokens_of(const Tokenizer& tokenizer) {
  json::object list;
  const auto end = static_cast<TokenId>(tokenizer.vocabulary_size());
  for (TokenId id = 0; id < end; ++id) {
    if (!tokenizer.is_special(id)) continue;
    list[std::to_string(id)] =
        json::object{{"content", text_or_null(tokenizer, id)}, {"special", true}};
  }
  return list;
}

}  // namespace

std::string tokenizer_info_body(const ModelCard& card) {
  const ServedModel& model = *card.model;
  const Tokenizer& tokenizer = model.tokenizer;
  json::object info{{"vocab_size", tokenizer.vocabulary_size()},
                    {"model_max_length", model.context}};
  for (const auto& [name, id] : std::initializer_list<std::pair<std::string_view, TokenId>>{
           {"bos_token", tokenizer.bos()},
           {"eos_token", tokenizer.eos()},
           {"unk_token", tokenizer.unknown()},
           {"pad_token", tokenizer.padding()}}) {
    info[name] = text_or_null(tokenizer, id);
  }
  const std::string_view chat_template = tokenizer.chat_template();
  info["chat_template"] = chat_template.empty() ? json::value() : json::value(chat_template);
  info["added_tokens_decoder"] = special_tokens_of(tokenizer);
  return json_text(info);
}

}  // namespace weft
