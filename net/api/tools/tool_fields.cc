#include "weft/net/api/tools/tool_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_value.h"
#include "weft/net/api/fields/request_fields.h"
#include "weft/net/api/tools/tool_choice.h"

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
json::object take_function(const BodyFields& function, std::vector<std::string>& strict,
                           std::string_view schema = "parameters") {
  const std::string_view name = function.needed_text("name");
  if (!may_name_function(name)) {
    function.fail("name", "must have 1 to " + std::to_string(defaults::kMaxFunctionName) +
                              " letters, digits, '_', '-' or '.'");
  }
  json::object made{{"name", name}};
  if (const auto description = function.text("description")) made["description"] = *description;
  made["parameters"] = {{"type", "object"}, {"properties", json::object()}};
  if (function.object(schema)) made["parameters"] = to_json(*function.any(schema));
  if (function.flag("strict").value_or(false)) strict.emplace_back(name);
  return made;
}

json::object take_tool(const BodyFields& fields, dom::element element, std::size_t index,
                       ToolDialect dialect, std::vector<std::string>& strict) {
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
    function = take_function(inner, strict);
    inner.finish();
  } else {
    function = take_function(tool, strict, messages ? "input_schema" : "parameters");
  }
  tool.finish();
  return {{"type", "function"}, {"function", std::move(function)}};
}

json::array take_list(const BodyFields& fields, dom::array list, ToolDialect dialect,
                      std::vector<std::string>& strict) {
  json::array tools;
  std::set<std::string, std::less<>> names;
  for (const dom::element entry : list) {
    if (tools.size() == defaults::kMaxTools) {
      fields.fail("tools", "has more than " + std::to_string(defaults::kMaxTools) + " functions");
    }
    json::object tool = take_tool(fields, entry, tools.size(), dialect, strict);
    if (fields.error()) return {};
    const json::string& name = tool["function"].as_object()["name"].as_string();
    if (!names.emplace(name.data(), name.size()).second) {
      fields.fail(indexed("tools", tools.size()), "has the name of another one");
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

/// How the dialect calls the schema of a tool.
std::string_view schema_name(ToolDialect dialect) {
  switch (dialect) {
    case ToolDialect::kResponses:
      return "parameters";
    case ToolDialect::kMessages:
      return "input_schema";
    case ToolDialect::kChat:
      break;
  }
  return "function.parameters";
}

void check_model(const BodyFields& fields, const ServedModel& model) {
  if (can_call_tools(model)) return;
  const bool knows = model.tokenizer.chat_templates().find("tools") != std::string::npos;
  fields.fail("tools",
              knows ? "cannot be used: how this model writes calls is not known"
                    : "are not known to this model's chat template",
              api_code::kUnsupported);
}

}  // namespace

bool can_call_tools(const ServedModel& model) {
  const OutputFormat& format = model.format->format;
  return model.tokenizer.chat_templates().find("tools") != std::string::npos &&
         (format.harmony || format.calls.body != CallBody::kNone);
}

void take_tools(BodyFields& fields, ToolDialect dialect, const ServedModel& model,
                Request& request) {
  request.typed_output = true;
  const bool may_call = take_tool_choice(fields, dialect, request);
  if (dialect != ToolDialect::kMessages) refuse_older_tools(fields);
  const auto list = fields.array("tools");
  if (list && list->size() > 0) {
    json::array tools = take_list(fields, *list, dialect, request.tool_choice.strict);
    check_model(fields, model);
    if (may_call) request.tools = std::move(tools);
  }
  if (!may_call) {
    request.tool_choice = {};
    return;
  }
  request.tool_choice.schema_name = schema_name(dialect);
  if (!fields.error()) check_tool_choice(fields, request);
}

}  // namespace weft
