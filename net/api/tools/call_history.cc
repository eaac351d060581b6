#include "weft/net/api/tools/call_history.h"

#include <boost/json/array.hpp>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/tools/typed_answer.h"
#include "weft/text/chat/message_form.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

// The levels of arguments that templates walk through; deeper arguments stay a text.
constexpr std::size_t kMaxArgumentDepth = 32;

/// Reads arguments from a client: a text in the API's form, or JSON as some clients write it.
/// Arguments that are no object stay unchanged; the ChatEncoder fits them to the template.
json::value arguments_in(dom::element element) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) return arguments_of(text);
  return to_json(element);
}

json::object take_call(const BodyFields& fields, dom::element element, std::size_t index,
                       CallHistory& history) {
  const BodyFields call(element.get_object(), fields.path_of(indexed("tool_calls", index)), fields);
  const std::string_view type = call.text("type").value_or("function");
  if (type != "function") {
    call.fail("type", shown(type) + " is not supported, only function", api_code::kUnsupported);
  }
  const std::string_view id = call.text("id").value_or("");
  call.ignore({"index", "extra_content", "provider_specific_fields"});
  const BodyFields function = call.needed_child("function");
  const std::string_view name = function.needed_text("name");
  const auto arguments = function.any("arguments");
  function.finish();
  call.finish();
  history.add(id, name);
  return call_with(id, name, arguments ? arguments_in(*arguments) : json::object());
}

}  // namespace

json::value arguments_of(std::string_view text) {
  if (text.empty()) return json::object();
  std::string problem;
  json::value value = parse_json(text, kMaxArgumentDepth, problem);
  if (problem.empty() && value.is_object()) return value;
  return json::string(text);
}

json::object call_with(std::string_view id, std::string_view function, json::value arguments) {
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", function}, {"arguments", std::move(arguments)}}}};
}

json::object call_of(std::string_view id, std::string_view function, std::string_view arguments) {
  return call_with(id, function, arguments_of(arguments));
}

std::string arguments_object(std::string_view arguments) {
  const json::value value = arguments_of(arguments);
  return json_text(value.is_object() ? value : json::object{{kInvalidArguments, value}});
}

void take_tool_calls(const BodyFields& fields, CallHistory& history, json::object& message) {
  const auto list = fields.array("tool_calls");
  if (!list || list->size() == 0) return;
  if (!has_at_most(fields, "tool_calls", *list, defaults::kMaxCalls, "calls")) return;
  json::array calls;
  for (const dom::element entry : *list) {
    calls.push_back(take_call(fields, entry, calls.size(), history));
    if (fields.error()) return;
  }
  message["tool_calls"] = std::move(calls);
}

void set_reasoning(const ServedModel& model, std::string_view text, json::object& message) {
  const std::string_view source = model.tokenizer.chat_template();
  if (text.empty()) return;
  if (source.find("reasoning_content") != std::string_view::npos) {
    message["reasoning_content"] = text;
  } else if (source.find("message.thinking") != std::string_view::npos) {
    // gpt-oss's template takes no text beside a thought that led to a call.
    const json::value* const content = message.if_contains("content");
    const bool said = content != nullptr && *content != "" && !content->is_null();
    if (!said || !message.contains("tool_calls")) message["thinking"] = text;
  }
}

}  // namespace weft
