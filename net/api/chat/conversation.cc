#include "weft/net/api/chat/conversation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/request/prompt/shortened_conversation.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/tools/call_history.h"
#include "weft/text/chat/template_variables.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

/// How the APIs' messages differ.
struct Dialect {
  std::span<const std::string_view> roles;
  std::span<const std::string_view> part_types;
  bool keeps_parts = false;  ///< the template gets the parts; else newlines join them
};

constexpr std::array<std::string_view, 5> kChatRoles = {"system", "developer", "user", "assistant",
                                                        "tool"};
constexpr std::array<std::string_view, 4> kItemRoles = {"system", "developer", "user", "assistant"};
constexpr std::array<std::string_view, 1> kChatParts = {"text"};
constexpr std::array<std::string_view, 3> kItemParts = {"input_text", "output_text", "text"};
constexpr Dialect kChat{kChatRoles, kChatParts, true};
constexpr Dialect kItems{kItemRoles, kItemParts};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string names_of(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string text_of_part(const BodyFields& message, std::string_view name, dom::element part,
                         std::size_t index, const Dialect& dialect) {
  const BodyFields fields(part.get_object(), message.path_of(indexed(name, index)), message);
  const std::string_view type = fields.needed_text("type");
  if (!holds(dialect.part_types, type)) {
    fields.fail("type", shown(type) + " is not supported, only " + names_of(dialect.part_types),
                api_code::kUnsupported);
  }
  const std::string_view text = fields.needed_text("text");
  take_harmless_fields(fields, FieldPlace::kPart);
  fields.finish();
  return std::string(text);
}

/// Returns the texts of a list of parts.
std::vector<std::string> texts_of(const BodyFields& message, std::string_view name,
                                  dom::array parts, const Dialect& dialect) {
  std::vector<std::string> texts;
  if (!has_at_most(message, name, parts, defaults::kMaxContentParts, "parts")) return texts;
  for (const dom::element part : parts) {
    texts.push_back(text_of_part(message, name, part, texts.size(), dialect));
    if (message.error()) return {};
  }
  if (texts.empty()) message.fail(name, "is an empty list");
  return texts;
}

/// Returns the texts of a content: the one text, or the texts of a list of parts.
std::vector<std::string> text_or_parts(const BodyFields& message, std::string_view name,
                                       dom::element content, const Dialect& dialect) {
  std::string_view text;
  if (content.get(text) == simdjson::SUCCESS) return {std::string(text)};
  dom::array parts;
  if (content.get(parts) == simdjson::SUCCESS) return texts_of(message, name, parts, dialect);
  message.fail(name, "must be a string or a list of parts", api_code::kInvalidType);
  return {};
}

std::string joined_texts(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    if (&text != texts.data()) all += '\n';
    all += text;
  }
  return all;
}

/// Makes parts in the form of templates that take lists. Each API has its own names of part types.
json::array parts_of(const std::vector<std::string>& texts) {
  json::array parts;
  for (const std::string& text : texts) parts.push_back({{"type", "text"}, {"text", text}});
  return parts;
}

/// Reads a text, or the parts of a content that is a list where the dialect keeps lists.
json::value take_content(BodyFields& message, std::string_view role, const Dialect& dialect) {
  const auto content = message.any("content");
  if (!content) {
    if (role != "assistant") message.fail("content", "is missing", api_code::kMissing);
    // The assistant's words are in `audio` alone, since there is no content.
    if (message.has("audio"))
      message.fail("audio", "needs a text beside it", api_code::kUnsupported);
    return "";
  }
  const std::vector<std::string> texts = text_or_parts(message, "content", *content, dialect);
  if (dialect.keeps_parts && content->is_array()) return parts_of(texts);
  return json::string(joined_texts(texts));
}

std::string_view take_role(BodyFields& message, const Dialect& dialect) {
  const std::string_view role = message.needed_text("role");
  if (!holds(dialect.roles, role)) {
    message.fail("role", shown(role) + " is none of " + names_of(dialect.roles));
  }
  return role;
}

/// A template without the word "developer" cannot tell that role from a mistake.
bool knows_developer(const ServedModel& model) {
  return model.tokenizer.chat_template().find("developer") != std::string_view::npos;
}

/// Takes the fields that depend on the role: calls and thoughts, or the call that a result answers.
void take_role_fields(const BodyFields& message, std::string_view role, const ServedModel& model,
                      CallHistory& history, json::object& result) {
  if (role == "assistant") {
    take_tool_calls(message, history, result);
    const auto thought = message.text("reasoning_content");
    const auto other = message.text("reasoning");  // OpenRouter's and vLLM's name
    set_reasoning(model, thought ? *thought : other.value_or(""), result);
    static_cast<void>(message.flag("prefix"));  // read by take_final_message(), since only the last
                                                // message may have it
    take_harmless_fields(message, FieldPlace::kHistory);
  } else if (message.has("tool_calls")) {
    message.fail("tool_calls", "are of an assistant's messages");
  }
  if (role != "tool") return;
  const std::string_view id = message.text("tool_call_id").value_or("");
  if (!id.empty()) result["tool_call_id"] = id;
  const std::string_view name = message.text("name").value_or(history.function_of(id));
  if (!name.empty()) result["name"] = name;
}

json::object take_message(BodyFields& message, const Dialect& dialect, const ServedModel& model,
                          CallHistory& history) {
  const std::string_view role = take_role(message, dialect);
  json::value content = take_content(message, role, dialect);
  const bool as_system = role == "developer" && !knows_developer(model);
  json::object result{{"role", as_system ? "system" : role}, {"content", std::move(content)}};
  take_role_fields(message, role, model, history, result);
  take_harmless_fields(message, FieldPlace::kMessage);
  return result;
}

json::array take_list(BodyFields& fields, dom::array list, const ServedModel& model) {
  constexpr std::string_view kName = "messages";
  json::array messages;
  CallHistory history;
  if (!has_at_most(fields, kName, list, defaults::kMaxMessages, "messages")) return messages;
  for (const dom::element entry : list) {
    BodyFields message(entry.get_object(), fields.path_of(indexed(kName, messages.size())), fields);
    messages.push_back(take_message(message, kChat, model, history));
    if (message.finish()) return {};
  }
  if (messages.empty()) fields.fail(kName, "must have at least one message");
  return messages;
}

}  // namespace

void refuse_without_template(BodyFields& fields, const ServedModel& model) {
  const auto problem = model.chat.problem();
  if (!problem) return;
  fields.fail(
      bad_field({}, "this model cannot chat, and serves completions alone: " + to_string(*problem),
                api_code::kUnsupported));
}

json::array take_messages(BodyFields& fields, const ServedModel& model) {
  refuse_without_template(fields, model);
  const auto list = fields.array("messages");
  if (list) return take_list(fields, *list, model);
  fields.fail("messages", "is missing", api_code::kMissing);
  return {};
}

json::object take_item_message(BodyFields& item, const ServedModel& model) {
  CallHistory none;
  return take_message(item, kItems, model, none);
}

std::string take_item_text(BodyFields& item, std::string_view name) {
  const auto content = item.any(name);
  if (content) return joined_texts(text_or_parts(item, name, *content, kItems));
  item.fail(name, "is missing", api_code::kMissing);
  return {};
}

json::object message_of(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

ApiResult<std::vector<TokenId>> prompt_tokens(Request request, const ServedModel& model) {
  const std::size_t shortened = request.drop_oldest_messages ? shortened_prompt(request, model) : 0;
  Conversation conversation{.messages = std::move(request.messages),
                            .tools = std::move(request.tools),
                            .chat_template_kwargs = std::move(request.chat_template_kwargs),
                            .add_generation_prompt = request.add_generation_prompt,
                            .continue_final_message = request.continue_final_message};
  auto ids = shortened > 0
                 ? shortened_tokens(model.chat, std::move(conversation), wall_clock(), shortened)
                 : model.chat.encode(std::move(conversation), wall_clock());
  if (!ids) return api_error_of(ids.error());
  return *std::move(ids);
}

void check_final_message(const BodyFields& fields, std::string_view name, const Request& request) {
  if (!request.continue_final_message || request.messages.empty()) return;
  const json::object& last = request.messages.back().as_object();
  if (last.at("role") != "assistant") {
    fields.fail(name, "the last message is not the assistant's");
  } else if (last.contains("tool_calls")) {
    fields.fail(name, "the last message has calls, behind which nothing is continued");
  }
}

void take_final_message(const BodyFields& fields, Request& request) {
  constexpr std::string_view kContinue = "continue_final_message";
  const auto prompt = fields.flag("add_generation_prompt");
  request.continue_final_message = fields.flag(kContinue).value_or(false);
  std::string_view name = kContinue;
  dom::element last;
  bool prefix = false;
  if (const auto list = fields.array("messages"); list && list->size() > 0) {
    last = list->at(list->size() - 1);
    prefix = last["prefix"].get(prefix) == simdjson::SUCCESS && prefix;
  }
  if (prefix && !request.continue_final_message) {
    request.continue_final_message = true;
    name = "prefix";
  }
  if (request.continue_final_message && prompt.value_or(false)) {
    fields.fail("add_generation_prompt", "cannot be true with " + std::string(name));
  }
  request.add_generation_prompt = prompt.value_or(!request.continue_final_message);
  check_final_message(fields, name, request);
}

json::object take_template_kwargs(BodyFields& fields) {
  const auto element = fields.any("chat_template_kwargs");
  if (!element) return {};
  dom::object object;
  if (element->get(object) != simdjson::SUCCESS) {
    fields.fail("chat_template_kwargs", "must be an object", api_code::kInvalidType);
    return {};
  }
  for (const dom::key_value_pair entry : object) {
    if (!holds(kServerTemplateVariables, entry.key)) continue;
    fields.fail("chat_template_kwargs." + std::string(entry.key), "is set by the server",
                api_code::kUnsupported);
    return {};
  }
  return to_json(*element).as_object();
}

}  // namespace weft
