#include "weft/net/api/chat/older_functions.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/tools/call_id.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

constexpr std::string_view kFunctions = "functions";
constexpr std::string_view kCall = "function_call";

bool is_call_message(dom::element message) {
  std::string_view role;
  if (message["role"].get(role) == simdjson::SUCCESS && role == "function") return true;
  dom::object call;
  return message[kCall].get(call) == simdjson::SUCCESS;
}

/// Rewrites messages one after the other: calls get ids, and their results the same ids.
class MessageChanger {
 public:
  void change(json::value& value) {
    json::object* const message = value.if_object();
    if (message == nullptr) return;
    if (json::value* const call = message->if_contains(kCall)) change_call(*message, *call);
    const json::value* const role = message->if_contains("role");
    if (role != nullptr && *role == "function") change_result(*message);
  }

 private:
  static std::string_view name_in(const json::object& object) {
    const json::value* const name = object.if_contains("name");
    const json::string* const text = name == nullptr ? nullptr : name->if_string();
    return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
  }

  void change_call(json::object& message, const json::value& call) {
    if (!call.is_object()) return;
    const std::string id = call_id("", 0, calls_++);
    ids_.insert_or_assign(std::string(name_in(call.get_object())), id);
    json::array calls{json::object{{"id", id}, {"type", "function"}, {"function", call}}};
    message.erase(kCall);
    message["tool_calls"] = std::move(calls);
  }

  void change_result(json::object& message) {
    const auto found = ids_.find(name_in(message));
    message["role"] = "tool";
    if (found != ids_.end()) message["tool_call_id"] = found->second;
  }

  std::map<std::string, std::string, std::less<>> ids_;  // id of each function's last call
  std::size_t calls_ = 0;
};

json::array tools_of(const json::array& functions) {
  json::array tools;
  for (const json::value& function : functions) {
    tools.push_back(json::object{{"type", "function"}, {"function", function}});
  }
  return tools;
}

json::value choice_of(const json::value& call) {
  if (!call.is_object()) return call;
  return json::object{{"type", "function"}, {"function", call}};
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

std::string older_name(std::string name) {
  if (name.starts_with("tools")) name.replace(0, 5, kFunctions);
  for (const std::string_view choice : {"tool_choice.function", "tool_choice"}) {
    if (name.starts_with(choice)) name.replace(0, choice.size(), kCall);
  }
  replace_all(name, "].function", "]");
  return name;
}

}  // namespace

bool offers_older_functions(dom::object body) {
  dom::array functions;
  return body.at_key(kFunctions).get(functions) == simdjson::SUCCESS && functions.size() > 0;
}

bool has_older_functions(dom::object body) {
  if (offers_older_functions(body)) return true;
  dom::array messages;
  if (body.at_key("messages").get(messages) != simdjson::SUCCESS) return false;
  for (const dom::element message : messages) {
    if (message.is_object() && is_call_message(message)) return true;
  }
  return false;
}

ApiResult<std::string> with_tools_of_today(dom::object body) {
  json::object changed;
  for (const dom::key_value_pair field : body) changed[field.key] = to_json(field.value);
  if (offers_older_functions(body)) {
    const json::value* const tools = changed.if_contains("tools");
    if (tools != nullptr && !tools->is_null() && *tools != json::array()) {
      return bad_field(kFunctions, "and tools both offer functions");
    }
    changed["tools"] = tools_of(changed[kFunctions].as_array());
    changed["parallel_tool_calls"] = false;  // such an answer has room for one function_call
    if (const json::value* const call = changed.if_contains(kCall)) {
      changed["tool_choice"] = choice_of(*call);
    }
    changed.erase(kFunctions);
    changed.erase(kCall);
  }
  MessageChanger changer;
  json::value* const messages = changed.if_contains("messages");
  if (messages != nullptr && messages->is_array()) {
    for (json::value& message : messages->get_array()) changer.change(message);
  }
  return {boost::system::in_place_value, json_text(changed)};
}

ApiError in_older_names(ApiError error) {
  const std::string older = older_name(error.param);
  if (error.message.starts_with(error.param)) error.message.replace(0, error.param.size(), older);
  error.param = older;
  return error;
}

}  // namespace weft
