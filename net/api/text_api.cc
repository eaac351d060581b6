#include "weft/net/api/text_api.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/net/api/chat/chat_request.h"
#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/fields/time_text.h"
#include "weft/net/api/fields/word_tokens.h"
#include "weft/net/api/tools/thinking_fields.h"
#include "weft/net/api/tools/tool_fields.h"

namespace weft {
namespace {

namespace json = boost::json;

// The longest text that /detokenize returns. A bound is needed, because a few bytes in a body can
// name a token of a hundred bytes.
constexpr std::size_t kMaxText = std::size_t{4} << 20;

using TokenIdList = ApiResult<std::vector<TokenId>>;

TokenIdList conversation_tokens(BodyFields& fields, const ServedModel& model) {
  Conversation conversation;
  Request request;
  request.messages = take_messages(fields, model);
  take_final_message(fields, request);
  conversation.messages = std::move(request.messages);
  conversation.add_generation_prompt = request.add_generation_prompt;
  conversation.continue_final_message = request.continue_final_message;
  request.chat_template_kwargs = take_template_kwargs(fields);
  take_tools(fields, ToolDialect::kChat, model, request);
  take_reasoning_effort(fields, "reasoning_effort", model.tokenizer.chat_template(), request);
  conversation.tools = std::move(request.tools);
  conversation.chat_template_kwargs = std::move(request.chat_template_kwargs);
  allow_only(fields, {{"add_special_tokens", false}});
  if (auto error = fields.finish()) return *std::move(error);
  auto ids = model.chat.encode(std::move(conversation), wall_clock());
  if (!ids) return api_error_of(ids.error());
  return *std::move(ids);
}

TokenIdList tokens_of(std::string_view text, const EncodeOptions& options,
                      const ServedModel& model) {
  std::vector<TokenId> ids;
  const auto encoded = model.tokenizer.encode(text, options, ids);
  if (!encoded) return api_error_of(encoded.error());
  return ids;
}

TokenIdList text_tokens(BodyFields& fields, const ServedModel& model) {
  const auto text = fields.text("prompt");
  if (!text) fields.fail("prompt", "is missing", api_code::kMissing);
  const bool add_special = fields.flag("add_special_tokens").value_or(true);
  if (auto error = fields.finish()) return *std::move(error);
  return tokens_of(*text, {.add_special = add_special}, model);
}

/// Takes `content` and the fields that llama.cpp's clients send with it, with llama.cpp's defaults.
TokenIdList content_tokens(BodyFields& fields, const ServedModel& model) {
  const std::string_view text = fields.text("content").value_or(std::string_view());
  const EncodeOptions options{.add_special = fields.flag("add_special").value_or(false),
                              .parse_special = fields.flag("parse_special").value_or(true)};
  if (auto error = fields.finish()) return *std::move(error);
  return tokens_of(text, options, model);
}

TokenIdList asked_tokens(BodyFields& fields, const ServedModel& model) {
  if (fields.has("messages")) return conversation_tokens(fields, model);
  return fields.has("content") ? content_tokens(fields, model) : text_tokens(fields, model);
}

/// Returns an upper bound of the bytes of the tokens' text. It counts the names of special tokens,
/// which the text may leave out.
std::size_t text_bytes(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::size_t bytes = 0;
  for (const TokenId id : ids) {
    const auto text = tokenizer.token(id);
    bytes += text ? std::max<std::size_t>(text->size(), 1) : 1;
  }
  return bytes;
}

/// Writes a list, with `append_one(id)` for each entry.
template <class AppendOne>
void append_list(const std::vector<TokenId>& ids, std::string& out, const AppendOne& append_one) {
  out.push_back('[');
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_one(ids[i]);
  }
  out.push_back(']');
}

void append_token_texts(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                        std::string& out) {
  append_list(ids, out, [&](TokenId id) {
    const auto text = tokenizer.token(id);
    if (text) return append_json_string(out, *text);
    out.append("null");
  });
}

/// Writes [{"id": 5, "piece": " a"}, ...] as llama.cpp's server does: a piece whose bytes are no
/// characters is a list of numbers.
void append_pieces(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, std::string& out) {
  append_list(ids, out, [&](TokenId id) {
    append_number(out.append("{\"id\":"), id);
    out.append(",\"piece\":");
    std::string bytes;
    static_cast<void>(tokenizer.append_bytes(id, bytes));  // an unknown token has no bytes
    if (is_utf8(bytes)) {
      append_json_string(out, bytes);
    } else {
      json::array numbers;
      for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
      append_json(out, numbers);
    }
    out.push_back('}');
  });
}

/// Returns the facts that llama.cpp's server reports of a model.
json::object meta_of(const ServedModel& model) {
  return {{"n_vocab", model.vocabulary},
          {"n_ctx", model.context},
          {"n_embd", model.facts.hidden},
          {"n_params", model.facts.parameters},
          {"size", model.facts.stored_bytes}};
}

/// Returns the model's state of loading, in the words of llama.cpp's router.
json::object status_of(const ModelCard& card) {
  json::object status{{"value", to_string(card.state)}};
  if (card.state == ModelState::kFailed) {
    status["failed"] = true;
    // The detail names the server's files, which only its operator may see.
    status["reason"] = card.failure.code.message();
  }
  return status;
}

json::object model_of(const ModelCard& card) {
  json::object model{{"id", card.name},    {"object", "model"}, {"created", card.created},
                     {"owned_by", "weft"}, {"root", card.name}, {"parent", nullptr}};
  if (!card.parent.empty()) model["parent"] = card.parent;
  if (card.model) {
    model["max_model_len"] = card.model->context;
    model["context_length"] = card.model->context;
    model["meta"] = meta_of(*card.model);
  }
  // The fields of Anthropic's API.
  model["type"] = "model";
  model["display_name"] = card.name;
  model["created_at"] = rfc3339(card.created);
  model["lifecycle"] = "active";
  if (card.model) {
    model["max_input_tokens"] = card.model->context;
    model["max_tokens"] = card.model->context;
  }
  model["status"] = status_of(card);
  if (card.aliases.empty()) return model;
  json::array aliases;
  for (const std::string& alias : card.aliases) aliases.emplace_back(alias);
  model["aliases"] = std::move(aliases);
  return model;
}

}  // namespace

ApiResult<std::string> tokenize(simdjson::dom::object body, const ModelCard& card) {
  const ServedModel& model = *card.model;
  BodyFields fields(body);
  static_cast<void>(take_model(fields, card));
  const bool with_texts = fields.flag("return_token_strs").value_or(false);
  const bool with_pieces = fields.flag("with_pieces").value_or(false);
  const TokenIdList ids = asked_tokens(fields, model);
  if (!ids) return ids.error();
  std::string answer = "{\"count\":";  // written directly as text, since there may be millions
  append_number(answer, static_cast<std::int64_t>(ids->size()));
  answer.append(",\"max_model_len\":");
  append_number(answer, model.context);
  answer.append(",\"tokens\":");
  if (with_pieces) {
    append_pieces(model.tokenizer, *ids, answer);
  } else {
    append_list(*ids, answer, [&](TokenId id) { append_number(answer, id); });
  }
  answer.append(",\"token_strs\":");
  if (with_texts) {
    append_token_texts(model.tokenizer, *ids, answer);
  } else {
    answer.append("null");
  }
  answer.push_back('}');
  return answer;
}

ApiResult<std::string> render_chat(simdjson::dom::object body, const ApiContext& context) {
  auto read = read_chat(body, context);
  if (!read) return read.error();
  const ServedModel& model = *context.card.model;
  const auto ids = prompt_tokens(std::move(read->parts.front()), model);
  if (!ids) return ids.error();
  const auto text = model.tokenizer.decode(*ids, false);
  if (!text) return api_error_of(text.error());
  std::string answer = "{\"count\":";
  append_number(answer, static_cast<std::int64_t>(ids->size()));
  answer.append(",\"max_model_len\":");
  append_number(answer, model.context);
  answer.append(",\"prompt\":");
  append_json_string(answer, *text);
  answer.append(",\"tokens\":");
  append_list(*ids, answer, [&](TokenId id) { append_number(answer, id); });
  answer.push_back('}');
  return answer;
}

ApiResult<std::string> detokenize(simdjson::dom::object body, const ModelCard& card) {
  BodyFields fields(body);
  static_cast<void>(take_model(fields, card));
  std::vector<TokenId> ids;
  take_token_ids(fields, "tokens", defaults::kMaxListEntries, ids);
  if (!fields.any("tokens")) fields.fail("tokens", "is missing", api_code::kMissing);
  if (text_bytes(card.model->tokenizer, ids) > kMaxText) {
    fields.fail("tokens", "hold more than 4 MiB of text");
  }
  if (auto error = fields.finish()) return *std::move(error);
  const auto text = card.model->tokenizer.decode(ids, false);
  if (!text) return bad_field("tokens", to_string(text.error()));
  std::string answer = "{\"prompt\":";
  append_json_string(answer, *text);
  append_json_string(answer.append(",\"content\":"), *text);  // the name in llama.cpp's API
  answer.push_back('}');
  return answer;
}

std::string models_body(const ModelList& list) {
  const std::vector<ModelCard> cards = list.with_adapters();
  json::array data;
  for (const ModelCard& card : cards) data.push_back(model_of(card));
  return json_text(json::object{{"object", "list"},
                                {"data", std::move(data)},
                                {"has_more", false},
                                {"first_id", cards.front().name},
                                {"last_id", cards.back().name}});
}

std::string model_body(const ModelCard& card) { return json_text(model_of(card)); }

}  // namespace weft
