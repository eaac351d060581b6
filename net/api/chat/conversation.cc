#include "weft/net/api/chat/conversation.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/text/chat/template_variables.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

/// How the APIs' messages differ.
struct Dialect {
  std::span<const std::string_view> roles;
  std::span<const std::string_view> part_types;
  bool items;  ///< messages are one type of item, with an id and a status
};

constexpr std::array<std::string_view, 5> kChatRoles = {"system", "developer", "user", "assistant",
                                                        "tool"};
constexpr std::array<std::string_view, 4> kItemRoles = {"system", "developer", "user", "assistant"};
constexpr std::array<std::string_view, 1> kChatParts = {"text"};
constexpr std::array<std::string_view, 3> kItemParts = {"input_text", "output_text", "text"};
constexpr Dialect kChat{kChatRoles, kChatParts, false};
constexpr Dialect kItems{kItemRoles, kItemParts, true};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string names_of(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string text_of_part(BodyFields& message, dom::element part, std::size_t index,
                         const Dialect& dialect) {
  const BodyFields fields(part.get_object(), message.path_of(indexed("content", index)), message);
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

std::string joined_parts(BodyFields& message, dom::array parts, const Dialect& dialect) {
  std::string text;
  std::size_t index = 0;
  for (const dom::element part : parts) {
    if (index == defaults::kMaxContentParts) {
      message.fail("content", "has more than " + std::to_string(index) + " parts");
    }
    if (index > 0) text += '\n';
    text += text_of_part(message, part, index++, dialect);
    if (message.error()) return {};
  }
  if (index == 0) message.fail("content", "is an empty list");
  return text;
}

std::string take_content(BodyFields& message, std::string_view role, const Dialect& dialect) {
  const auto content = message.any("content");
  if (!content) {
    if (role != "assistant") message.fail("content", "is missing", api_code::kMissing);
    // What was said is in it alone.
    if (message.has("audio"))
      message.fail("audio", "needs a text beside it", api_code::kUnsupported);
    return {};
  }
  std::string_view text;
  if (content->get(text) == simdjson::SUCCESS) return std::string(text);
  dom::array parts;
  if (content->get(parts) == simdjson::SUCCESS) return joined_parts(message, parts, dialect);
  message.fail("content", "must be a string or a list of parts", api_code::kInvalidType);
  return {};
}

void check_item_type(BodyFields& item) {
  const auto type = item.text("type");
  if (type && *type != "message") {
    item.fail("type", shown(*type) + " is not supported, only messages are",
              api_code::kUnsupported);
  }
  take_harmless_fields(item, FieldPlace::kItem);
}

std::string_view take_role(BodyFields& message, const Dialect& dialect) {
  const std::string_view role = message.needed_text("role");
  if (!holds(dialect.roles, role)) {
    message.fail("role", shown(role) + " is none of " + names_of(dialect.roles));
  }
  return role;
}

json::object take_message(BodyFields& message, const Dialect& dialect, bool knows_developer) {
  if (dialect.items) check_item_type(message);
  const std::string_view role = take_role(message, dialect);
  allow_no_tools(message, "tool_calls");
  const std::string content = take_content(message, role, dialect);
  const bool as_system = role == "developer" && !knows_developer;
  json::object result = message_of(as_system ? "system" : role, content);
  if (role == "tool") {
    if (const auto id = message.text("tool_call_id")) result["tool_call_id"] = *id;
  }
  take_harmless_fields(message, FieldPlace::kMessage);
  if (role == "assistant") take_harmless_fields(message, FieldPlace::kHistory);
  return result;
}

json::array take_list(BodyFields& fields, std::string_view name, dom::array list,
                      const ServedModel& model, const Dialect& dialect) {
  // A template that does not contain the word cannot tell that role from a mistake.
  const bool knows_developer =
      model.tokenizer.chat_template().find("developer") != std::string_view::npos;
  json::array messages;
  for (const dom::element entry : list) {
    BodyFields message(entry.get_object(), fields.path_of(indexed(name, messages.size())), fields);
    if (messages.size() == defaults::kMaxMessages) {
      fields.fail(name, "has more than " + std::to_string(messages.size()) + " messages");
      return {};
    }
    messages.push_back(take_message(message, dialect, knows_developer));
    if (message.finish()) return {};
  }
  if (messages.empty()) fields.fail(name, "must have at least one message");
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
  if (list) return take_list(fields, "messages", *list, model, kChat);
  fields.fail("messages", "is missing", api_code::kMissing);
  return {};
}

json::array take_input(BodyFields& fields, const ServedModel& model) {
  refuse_without_template(fields, model);
  const auto input = fields.any("input");
  if (!input) {
    fields.fail("input", "is missing", api_code::kMissing);
    return {};
  }
  std::string_view text;
  if (input->get(text) == simdjson::SUCCESS) return json::array{message_of("user", text)};
  dom::array list;
  if (input->get(list) == simdjson::SUCCESS) return take_list(fields, "input", list, model, kItems);
  fields.fail("input", "must be a string or a list of items", api_code::kInvalidType);
  return {};
}

json::object message_of(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
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
