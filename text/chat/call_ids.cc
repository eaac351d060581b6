#include "weft/text/chat/call_ids.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kNamespace = "functions.";

std::string_view text_in(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view{};
}

/// Returns whether an id is `functions.NAME:NUMBER` with this function's name.
bool names(std::string_view id, std::string_view function) {
  if (!id.starts_with(kNamespace)) return false;
  id.remove_prefix(kNamespace.size());
  if (!id.starts_with(function)) return false;
  id.remove_prefix(function.size());
  return id.size() > 1 && id.front() == ':' &&
         std::ranges::all_of(id.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

using Renamed = std::map<std::string, std::string, std::less<>>;  // new id by old id

void name_call(json::value& entry, std::size_t number, Renamed& renamed) {
  json::object* const call = entry.if_object();
  const json::value* const function = call ? call->if_contains("function") : nullptr;
  if (function == nullptr || !function->is_object()) return;
  const std::string_view name = text_in(function->get_object(), "name");
  const std::string_view id = text_in(*call, "id");
  if (name.empty() || names(id, name)) return;
  std::string made(kNamespace);
  made.append(name).append(":").append(std::to_string(number));
  if (!id.empty()) renamed.insert_or_assign(std::string(id), made);
  (*call)["id"] = made;
}

}  // namespace

bool wants_named_ids(const ChatTemplate& chat_template, const json::object& special_tokens) {
  constexpr std::string_view kId = "idOfCall1";
  constexpr std::string_view kName = "nameOfFunction";
  ChatTemplateInput input;
  input.special_tokens = special_tokens;
  const json::array calls{
      {{"id", kId},
       {"type", "function"},
       {"function", {{"name", kName}, {"arguments", json::object{{"x", "y"}}}}}}};
  input.messages = {{{"role", "user"}, {"content", "x"}},
                    {{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}};
  const auto prompt = chat_template.render(input, std::chrono::local_seconds{});
  return prompt && prompt->find(kId) != std::string::npos &&
         prompt->find(kName) == std::string::npos;
}

void name_call_ids(json::array& messages) {
  Renamed renamed;
  std::size_t number = 0;
  for (json::value& entry : messages) {
    json::object* const message = entry.if_object();
    if (message == nullptr) continue;
    if (json::value* const calls = message->if_contains("tool_calls"); calls && calls->is_array()) {
      for (json::value& call : calls->get_array()) name_call(call, number++, renamed);
    }
    const auto found = renamed.find(text_in(*message, "tool_call_id"));
    if (found != renamed.end()) (*message)["tool_call_id"] = found->second;
  }
}

}  // namespace weft
