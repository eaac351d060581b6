#include "weft/text/chat/message_form.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstddef>
#include <utility>

#include "weft/text/json/json_text.h"

namespace weft {
namespace {

namespace json = boost::json;

// The depth to which templates walk through values.
constexpr std::size_t kMaxArgumentDepth = 32;

constexpr std::string_view kArgument = "needle";
constexpr std::string_view kValue = "value-of-it";

/// Returns a conversation in which the assistant calls a function with `arguments`.
ChatTemplateInput call_with(json::value arguments, const json::object& special) {
  const json::object parameters{{"type", "object"},
                                {"properties", {{kArgument, {{"type", "string"}}}}}};
  ChatTemplateInput input;
  input.special_tokens = special;
  input.add_generation_prompt = true;
  input.tools = json::array{
      {{"type", "function"},
       {"function", {{"name", "f"}, {"description", "d"}, {"parameters", parameters}}}}};
  const json::array calls{{{"id", "call00001"},  // in the form of Mistral's templates
                           {"type", "function"},
                           {"function", {{"name", "f"}, {"arguments", std::move(arguments)}}}}};
  input.messages = {{{"role", "user"}, {"content", "x"}},
                    {{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}};
  return input;
}

/// Returns whether a prompt contains the arguments in a form other than Python's.
bool shows_argument(const ChatTemplate& chat_template, const ChatTemplateInput& input) {
  const auto prompt = chat_template.render(input, std::chrono::local_seconds{});
  if (!prompt) return false;
  return prompt->find(kValue) != std::string::npos &&
         prompt->find("{'needle'") == std::string::npos;
}

/// Returns a conversation that has a message of `role` with this content.
ChatTemplateInput said_by(std::string_view role, const json::value& content,
                          const json::object& special) {
  ChatTemplateInput input =
      role == "tool" ? call_with(json::object{{kArgument, "x"}}, special) : ChatTemplateInput();
  input.special_tokens = special;
  if (role == "assistant") input.messages = {{{"role", "user"}, {"content", "x"}}};
  json::object message{{"role", role}, {"content", content}};
  if (role == "tool") {
    message["tool_call_id"] = "call00001";
    message["name"] = "f";
  }
  input.messages.push_back(std::move(message));
  if (role == "system" || role == "assistant") {
    input.messages.push_back({{"role", "user"}, {"content", "y"}});
  }
  return input;
}

/// Returns whether the template writes the texts of a list of parts, and nothing else from the
/// list.
bool takes_list(const ChatTemplate& chat_template, std::string_view role,
                const json::object& special) {
  const json::array parts{{{"type", "text"}, {"text", "first-part"}},
                          {{"type", "text"}, {"text", "second-part"}}};
  const auto prompt =
      chat_template.render(said_by(role, parts, special), std::chrono::local_seconds{});
  if (!prompt) return false;
  const std::size_t first = prompt->find("first-part");
  const std::size_t second = prompt->find("second-part");
  if (first == std::string::npos || second == std::string::npos || second < first) return false;
  // A list that is printed as it is has its members' names between the texts.
  return std::string_view(*prompt).substr(first, second - first).find("text") ==
         std::string_view::npos;
}

bool is_blank_text(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

bool is_text_part(const json::value& part) {
  const json::object* const object = part.if_object();
  const json::value* const text = object ? object->if_contains("text") : nullptr;
  return text != nullptr && text->is_string();
}

std::string joined(const json::array& parts) {
  std::string text;
  for (const json::value& part : parts) {
    if (&part != parts.data()) text += '\n';
    text += std::string_view(part.at("text").get_string());
  }
  return text;
}

}  // namespace

MessageForm::MessageForm(const ChatTemplate& chat_template, const json::object& special_tokens) {
  const json::object arguments{{kArgument, kValue}};
  const json::string text(json::serialize(arguments));
  const auto shows = [&](json::value shown) {
    return shows_argument(chat_template, call_with(std::move(shown), special_tokens));
  };
  wants_texts_ = !shows(arguments) && shows(text);
  takes_texts_ = wants_texts_ || shows(json::string("{\"cut\": \"value-of-it"));
  for (const char* const role : {"system", "user", "assistant", "tool"}) {
    if (takes_list(chat_template, role, special_tokens)) list_roles_.insert(role);
  }
}

void MessageForm::apply(json::array& messages) const {
  for (json::value& message : messages) {
    json::object* const object = message.if_object();
    if (object == nullptr) continue;
    settle_content(*object);
    settle_calls(*object);
  }
}

void MessageForm::settle_content(json::object& message) const {
  json::value* const content = message.if_contains("content");
  if (content == nullptr || !content->is_array()) return;
  const json::value* const role = message.if_contains("role");
  const bool named = role != nullptr && role->is_string();
  if (named && list_roles_.contains(std::string_view(role->get_string()))) return;
  const json::array& parts = content->get_array();
  if (std::ranges::all_of(parts, is_text_part)) *content = json::string(joined(parts));
}

void MessageForm::settle_calls(json::object& message) const {
  json::value* const calls = message.if_contains("tool_calls");
  if (calls == nullptr || !calls->is_array()) return;
  for (json::value& call : calls->get_array()) {
    json::object* const one = call.if_object();
    if (one == nullptr) continue;
    json::value* const function = one->if_contains("function");
    json::object& place =
        function != nullptr && function->is_object() ? function->get_object() : *one;
    json::value arguments = settled(place.if_contains("arguments"));
    place["arguments"] = std::move(arguments);
  }
}

json::value MessageForm::settled(const json::value* arguments) const {
  json::value value = arguments != nullptr ? *arguments : json::value();
  const bool written = value.is_string();
  const std::string text = written ? std::string(value.get_string()) : json::serialize(value);
  if (written) {
    std::string problem;
    value = is_blank_text(text) ? json::value() : parse_json(text, kMaxArgumentDepth, problem);
    if (!problem.empty()) value = json::string(text);
  }
  if (value.is_null() || (value.is_array() && value.get_array().empty())) value = json::object();
  if (value.is_object()) {
    if (!wants_texts_) return value;
    // A text that the model wrote stays unchanged.
    const bool whole = written && !value.get_object().empty();
    return json::string(whole ? text : json::serialize(value));
  }
  if (takes_texts_) return json::string(text);
  return json::object{{kInvalidArguments, text}};
}

}  // namespace weft
