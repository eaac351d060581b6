#include "weft/net/api/responses/kept_response.h"

#include <simdjson.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/net/api/event_batch.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/responses/response_events.h"
#include "weft/net/api/responses/response_items.h"
#include "weft/net/api/tools/tool_origin.h"

namespace weft {
namespace {

namespace json = boost::json;

/// Writes the events of a stored response from its response object.
class Replay {
 public:
  explicit Replay(json::object response) : response_(std::move(response)) {}

  std::string events() && {
    const std::string begun = json_text(beginning());
    events_.response("response.created", begun, out_);
    events_.response("response.in_progress", begun, out_);
    const json::array& output = response_.at("output").as_array();
    for (std::size_t i = 0; i < output.size(); ++i) add_item(output[i].as_object(), i);
    const std::string type = "response." + text_of(response_, "status");
    events_.response(type, json_text(response_), out_);
    out_.add("[DONE]");
    return std::string(out_.bytes());
  }

 private:
  static std::string text_of(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    if (value == nullptr || !value->is_string()) return {};
    return {value->get_string().data(), value->get_string().size()};
  }

  static ToolKind kind_of(std::string_view type) noexcept {
    if (type == "custom_tool_call") return ToolKind::kCustom;
    return type == "tool_search_call" ? ToolKind::kSearch : ToolKind::kFunction;
  }

  static std::string arguments_of_call(const json::object& call, ToolKind kind) {
    if (kind == ToolKind::kCustom) return json_text(custom_arguments(text_of(call, "input")));
    if (kind == ToolKind::kSearch) return json_text(call.at("arguments"));
    return text_of(call, "arguments");
  }

  /// Returns the response as it was before any output.
  [[nodiscard]] json::object beginning() const {
    json::object begun = response_;
    begun["status"] = "in_progress";
    begun["output"] = json::array();
    for (const char* name : {"usage", "error", "incomplete_details", "completed_at"}) {
      begun[name] = nullptr;
    }
    return begun;
  }

  /// Returns the item as it was when it ended. A message and a thought have one part.
  static ResponseItem item_of_json(const json::object& object, std::size_t index) {
    ResponseItem item;
    const std::string type = text_of(object, "type");
    item.id = text_of(object, "id");
    item.index = index;
    if (type.ends_with("_call")) {
      item.kind = ResponseItem::Kind::kCall;
      item.call_id = text_of(object, "call_id");
      item.tool = {kind_of(type), text_of(object, "namespace"), text_of(object, "name")};
      item.text = arguments_of_call(object, item.tool.kind);
      return item;
    }
    if (type == "reasoning") item.kind = ResponseItem::Kind::kReasoning;
    for (const json::value& entry : object.at("content").as_array()) {
      const json::object& part = entry.as_object();
      item.text.append(text_of(part, "text"));
      const json::value* const logprobs = part.if_contains("logprobs");
      if (logprobs == nullptr) continue;
      const std::string list = json_text(*logprobs);  // with brackets
      item.logprobs = list.substr(1, list.size() - 2);
    }
    return item;
  }

  void add_item(const json::object& object, std::size_t index) {
    const ResponseItem item = item_of_json(object, index);
    events_.begin_item(item, out_);
    if (!item.text.empty()) events_.delta(item, item.text, item.logprobs, out_);
    events_.end_item(item, text_of(object, "status"), out_);
  }

  json::object response_;
  EventBatch out_{Framing::kSse};
  ResponseEvents events_;
};

/// Returns an input item's id, since items have none of their own: "msg_", the random part of the
/// response's id, and the item's place after an "i". Ids of output items have no "i".
std::string input_item_id(const StoredResponse& response, std::size_t index) {
  std::string_view name = response.id;
  if (name.starts_with("resp_")) name.remove_prefix(5);
  return "msg_" + std::string(name) + "_i" + std::to_string(index);
}

std::string text_of(const json::value& value) {
  const json::string* const text = value.if_string();
  return text == nullptr ? json_text(value) : std::string(text->data(), text->size());
}

/// Returns the item of a call, with the client's name of the tool.
json::object call_item(const json::object& call, const ToolOrigins* tools) {
  const json::object& function = call.at("function").as_object();
  const std::string name = text_of(function.at("name"));
  const json::value& arguments = function.at("arguments");
  const ToolOrigin tool = tools == nullptr ? ToolOrigin{.name = name} : tools->of(name);
  json::object item{{"type", "function_call"}, {"call_id", call.at("id")}};
  if (tool.kind == ToolKind::kSearch) {
    item["type"] = "tool_search_call";
    item["execution"] = "client";
    item["arguments"] = arguments;
    return item;
  }
  item["name"] = tool.name;
  if (!tool.name_space.empty()) item["namespace"] = tool.name_space;
  if (tool.kind == ToolKind::kCustom) {
    item["type"] = "custom_tool_call";
    item["input"] = custom_input(text_of(arguments));
  } else {
    item["arguments"] = text_of(arguments);
  }
  return item;
}

std::string_view output_type(const json::object& result, const ToolOrigins* tools) {
  const json::value* const function = result.if_contains("name");
  const bool custom = tools != nullptr && function != nullptr &&
                      tools->of(text_of(*function)).kind == ToolKind::kCustom;
  return custom ? "custom_tool_call_output" : "function_call_output";
}

/// Appends the items that a message contains: a text, calls, or the result of a call.
void append_items(const StoredResponse& response, const json::object& message, json::array& items) {
  const auto add = [&](json::object item) {
    item["id"] = input_item_id(response, items.size());
    item["status"] = "completed";
    items.push_back(std::move(item));
  };
  const json::value& role = message.at("role");
  if (role == "tool") {
    const json::value* const id = message.if_contains("tool_call_id");
    return add({{"type", output_type(message, response.tools.get())},
                {"call_id", id == nullptr ? json::value("") : *id},
                {"output", message.at("content")}});
  }
  const bool said = role == "assistant";
  const json::value* const calls = message.if_contains("tool_calls");
  if (calls == nullptr || message.at("content") != "") {
    json::object part{{"type", said ? "output_text" : "input_text"},
                      {"text", message.at("content")}};
    if (said) part["annotations"] = json::array();
    add({{"type", "message"}, {"role", role}, {"content", json::array{std::move(part)}}});
  }
  if (calls == nullptr) return;
  for (const json::value& entry : calls->as_array()) {
    add(call_item(entry.as_object(), response.tools.get()));
  }
}

/// Returns all input items of the response.
json::array all_input_items(const StoredResponse& response) {
  const std::size_t messages = response.conversation.size() - (response.answered ? 1 : 0);
  json::array all;
  for (std::size_t i = 0; i < messages; ++i) {
    append_items(response, response.conversation[i].as_object(), all);
  }
  return all;
}

json::object parsed_object(const StoredResponse& response) {
  simdjson::dom::parser parser;  // reads numbers exactly as they were written
  return to_json(parser.parse(response.object).value()).as_object();
}

json::value id_or_null(const json::array& items, bool last) {
  if (items.empty()) return nullptr;
  return (last ? items.back() : items.front()).at("id");
}

}  // namespace

std::string replay_events(const StoredResponse& response) {
  return Replay(parsed_object(response)).events();
}

ApiResult<std::string> input_items(const StoredResponse& response, const InputItemsPage& page) {
  json::array all = all_input_items(response);
  const std::size_t count = all.size();
  const auto nth = [&](std::size_t place) { return page.ascending ? place : count - 1 - place; };
  std::size_t begin = 0;
  if (!page.after.empty()) {
    while (begin < count && input_item_id(response, nth(begin)) != page.after) ++begin;
    if (begin++ == count) return bad_field("after", shown(page.after) + " is none of the items");
  }
  const std::size_t end = std::min(count, begin + page.limit);
  json::array items;
  for (std::size_t i = begin; i < end; ++i) items.push_back(std::move(all[nth(i)]));
  json::object list{{"object", "list"}};
  list["first_id"] = id_or_null(items, false);
  list["last_id"] = id_or_null(items, true);
  list["has_more"] = end < count;
  list["data"] = std::move(items);
  return json_text(list);
}

std::map<std::string, std::string, std::less<>> items_by_id(const StoredResponse& response) {
  std::map<std::string, std::string, std::less<>> items;
  const auto add = [&items](const json::array& list) {
    for (const json::value& item : list) {
      const json::string& id = item.at("id").as_string();
      items.emplace(std::string(id.data(), id.size()), json_text(item));
    }
  };
  add(all_input_items(response));
  add(parsed_object(response).at("output").as_array());
  return items;
}

}  // namespace weft
