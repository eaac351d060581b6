#include "weft/net/api/text_api.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "weft/net/api/body_fields.h"
#include "weft/net/api/conversation.h"
#include "weft/net/api/request_fields.h"
#include "weft/net/api/word_tokens.h"
#include "weft/text/unicode.h"

namespace weft {
namespace {

namespace json = boost::json;

json::object special_tokens_of(const Tokenizer& tokenizer) {
  json::object tokens;
  for (const auto& [name, id] : {std::pair("bos_token", tokenizer.bos()),
                                 {"eos_token", tokenizer.eos()},
                                 {"unk_token", tokenizer.unknown()},
                                 {"pad_token", tokenizer.padding()}}) {
    if (id == kNoToken) continue;
    if (const auto text = tokenizer.token(id)) tokens[name] = *text;
  }
  return tokens;
}

/// The text that the model's chat template makes of a conversation.
Result<std::string> rendered(ChatTemplateInput input, const ServedModel& model) {
  constexpr std::array<std::string_view, 4> kKwargs = {"enable_thinking", "thinking",
                                                       "reasoning_effort", "custom_instructions"};
  input.special_tokens = special_tokens_of(model.tokenizer);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return model.chat_template->render(input, kKwargs,
                                     std::chrono::local_seconds(now.time_since_epoch()));
}

struct TextToEncode {
  std::string text{};
  EncodeOptions options{};
};

TextToEncode take_conversation(BodyFields& fields, const ServedModel& model) {
  ChatTemplateInput input;
  input.messages = take_messages(fields, model);
  input.add_generation_prompt = fields.flag("add_generation_prompt").value_or(true);
  input.kwargs = take_template_kwargs(fields);
  allow_only(fields, {{"add_special_tokens", false}});
  if (!model.chat_template) {
    fields.fail("messages", "the model has no chat template", api_code::kUnsupported);
  }
  if (fields.error()) return {};
  auto text = rendered(std::move(input), model);
  if (!text) {
    fields.fail("messages", api_error_of(text.error()).message);
    return {};
  }
  // The template writes the special tokens itself, and it alone.
  return {*std::move(text), {.add_special = false, .parse_special = true}};
}

TextToEncode take_text(BodyFields& fields) {
  const auto text = fields.text("prompt");
  if (!text) fields.fail("prompt", "is missing", api_code::kMissing);
  return {std::string(text.value_or(std::string_view())),
          {.add_special = fields.flag("add_special_tokens").value_or(true)}};
}

json::value token_texts(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  json::array texts;
  for (const TokenId id : ids) {
    const auto text = tokenizer.token(id);
    texts.push_back(text ? json::value(lossy_utf8(*text)) : json::value());
  }
  return texts;
}

json::object model_of(const ModelCard& card, std::string_view name) {
  return {{"id", name},
          {"object", "model"},
          {"created", card.created},
          {"owned_by", "weft"},
          {"max_model_len", card.model->context}};
}

}  // namespace

ApiResult<std::string> tokenize(simdjson::dom::object body, const ModelCard& card) {
  const ServedModel& model = *card.model;
  BodyFields fields(body);
  static_cast<void>(take_model(fields, card));
  const bool with_texts = fields.flag("return_token_strs").value_or(false);
  const TextToEncode text =
      fields.any("messages") ? take_conversation(fields, model) : take_text(fields);
  if (auto error = fields.finish()) return *std::move(error);
  std::vector<TokenId> ids;
  const auto encoded = model.tokenizer.encode(text.text, text.options, ids);
  if (!encoded) return api_error_of(encoded.error());
  return json::serialize(
      json::object{{"count", ids.size()},
                   {"max_model_len", model.context},
                   {"tokens", json::array(ids.begin(), ids.end())},
                   {"token_strs", with_texts ? token_texts(model.tokenizer, ids) : nullptr}});
}

ApiResult<std::string> detokenize(simdjson::dom::object body, const ModelCard& card) {
  BodyFields fields(body);
  static_cast<void>(take_model(fields, card));
  std::vector<TokenId> ids;
  take_token_ids(fields, "tokens", Tokenizer::kMaxTextBytes, ids);
  if (!fields.any("tokens")) fields.fail("tokens", "is missing", api_code::kMissing);
  if (auto error = fields.finish()) return *std::move(error);
  const auto text = card.model->tokenizer.decode(ids, false);
  if (!text) return bad_field("tokens", to_string(text.error()));
  return json::serialize(json::object{{"prompt", *text}});
}

std::string models_body(const ModelCard& card) {
  json::array models{model_of(card, card.name)};
  for (const std::string& alias : card.aliases) models.push_back(model_of(card, alias));
  return json::serialize(json::object{{"object", "list"}, {"data", std::move(models)}});
}

std::string model_body(const ModelCard& card) { return json::serialize(model_of(card, card.name)); }

}  // namespace weft
