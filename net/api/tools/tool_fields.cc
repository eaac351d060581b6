#include "weft/net/api/tools/tool_fields.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/fields/request_fields.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

bool may_name_function(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= defaults::kMaxFunctionName &&
         std::ranges::all_of(name, fits);
}

/// Returns a function as templates know it, with its fields in the order that models were trained
/// with.
json::object take_function(const BodyFields& function, std::string_view schema = "parameters") {
  const std::string_view name = function.needed_text("name");
  if (!may_name_function(name)) {
    function.fail("name", "must have 1 to " + std::to_string(defaults::kMaxFunctionName) +
                              " letters, digits, '_', '-' or '.'");
  }
  json::object made{{"name", name}};
  if (const auto description = function.text("description")) made["description"] = *description;
  made["parameters"] = {{"type", "object"}, {"properties", json::object()}};
  if (function.object(schema)) made["parameters"] = to_json(*function.any(schema));
  static_cast<void>(function.flag("strict"));
  return made;
}

json::object take_tool(const BodyFields& fields, dom::element element, std::size_t index,
                       ToolDialect dialect) {
  const BodyFields tool(element.get_object(), indexed("tools", index), fields);
  const bool messages = dialect == ToolDialect::kMessages;
  const std::string_view known = messages ? "custom" : "function";
  const std::string_view type =
      messages ? tool.text("type").value_or(known) : tool.needed_text("type");
  if (type != known) {
    tool.fail("type", shown(type) + " is not supported, only " + std::string(known),
              api_code::kUnsupported);
  }
  tool.ignore({"cache_control", "defer_loading", "eager_input_streaming"});
  json::object function;
  if (dialect == ToolDialect::kChat) {
    const BodyFields inner = tool.needed_child("function");
    function = take_function(inner);
    inner.finish();
  } else {
    function = take_function(tool, messages ? "input_schema" : "parameters");
  }
  tool.finish();
  return {{"type", "function"}, {"function", std::move(function)}};
}

json::array take_list(const BodyFields& fields, dom::array list, ToolDialect dialect) {
  json::array tools;
  std::set<std::string, std::less<>> names;
  for (const dom::element entry : list) {
    if (tools.size() == defaults::kMaxTools) {
      fields.fail("tools", "has more than " + std::to_string(defaults::kMaxTools) + " functions");
    }
    json::object tool = take_tool(fields, entry, tools.size(), dialect);
    if (fields.error()) return {};
    const json::string& name = tool["function"].as_object()["name"].as_string();
    if (!names.emplace(name.data(), name.size()).second) {
      fields.fail(indexed("tools", tools.size()), "has the name of another one");
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

/// Whether the model may call what it is offered.
bool take_choice(const BodyFields& fields) {
  const auto choice = fields.any("tool_choice");
  if (!choice) return true;
  std::string_view word;
  if (choice->get(word) == simdjson::SUCCESS) {
    if (word == "auto") return true;
    if (word == "none") return false;
    fields.fail("tool_choice", shown(word) + " is not supported, only auto and none",
                api_code::kUnsupported);
  } else if (choice->is_object()) {
    fields.fail("tool_choice", "of a certain function is not supported, only auto and none",
                api_code::kUnsupported);
  } else {
    fields.fail("tool_choice", "must be a string or an object", api_code::kInvalidType);
  }
  return false;
}

/// The same of Messages, whose choice is an object.
bool take_choice_object(const BodyFields& fields, Request& request) {
  const auto object = fields.object("tool_choice");
  if (!object) return true;
  const BodyFields choice(*object, "tool_choice", fields);
  const std::string_view type = choice.needed_text("type");
  if (type != "auto" && type != "none") {
    choice.fail("type", shown(type) + " is not supported, only auto and none",
                api_code::kUnsupported);
  }
  request.parallel_tool_calls = !choice.flag("disable_parallel_tool_use").value_or(false);
  choice.finish();
  return type == "auto";
}

void check_model(const BodyFields& fields, const ServedModel& model) {
  if (can_call_tools(model)) return;
  const bool knows = model.tokenizer.chat_template().find("tools") != std::string_view::npos;
  fields.fail("tools",
              knows ? "cannot be used: how this model writes calls is not known"
                    : "are not known to this model's chat template",
              api_code::kUnsupported);
}

constexpr std::array<std::string_view, 6> kEfforts = {"none",   "minimal", "low",
                                                      "medium", "high",    "xhigh"};

void set_once(json::object& variables, std::string_view name, json::value value) {
  if (!variables.contains(name)) variables[name] = std::move(value);
}

}  // namespace

bool can_call_tools(const ServedModel& model) {
  const OutputFormat& format = model.format->format;
  return model.tokenizer.chat_template().find("tools") != std::string_view::npos &&
         (format.harmony || format.calls.body != CallBody::kNone);
}

void set_thinking(Request& request, bool wanted) {
  for (const std::string_view name : {"enable_thinking", "thinking"}) {
    set_once(request.chat_template_kwargs, name, wanted);
  }
}

void take_tools(BodyFields& fields, ToolDialect dialect, const ServedModel& model,
                Request& request) {
  request.typed_output = true;
  bool may_call = false;
  if (dialect == ToolDialect::kMessages) {
    may_call = take_choice_object(fields, request);
  } else {
    request.parallel_tool_calls = fields.flag("parallel_tool_calls").value_or(true);
    may_call = take_choice(fields);
    refuse_older_tools(fields);
  }
  const auto list = fields.array("tools");
  if (!list || list->size() == 0) return;
  json::array tools = take_list(fields, *list, dialect);
  check_model(fields, model);
  if (may_call) request.tools = std::move(tools);
}

void take_reasoning_effort(BodyFields& fields, std::string_view name, Request& request) {
  const auto effort = fields.text(name);
  if (!effort) return;
  if (std::ranges::find(kEfforts, *effort) == kEfforts.end()) {
    return fields.fail(name,
                       shown(*effort) + " is none of none, minimal, low, medium, high, xhigh");
  }
  json::object& variables = request.chat_template_kwargs;
  set_once(variables, "reasoning_effort", json::string(*effort));
  if (*effort == "none") set_thinking(request, false);
}

}  // namespace weft
