#include "weft/net/api/tools/tool_choice.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "weft/net/api/fields/body_defaults.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
using Mode = ToolChoice::Mode;

constexpr const char* kChoiceField = "tool_choice";

/// Takes a word for how free the choice is. Returns whether there is one.
bool take_mode(const BodyFields& fields, std::string_view field, std::string_view word,
               std::string_view required, ToolChoice& choice) {
  if (word == required) choice.mode = Mode::kRequired;
  if (word == "auto" || word == "none" || word == required) return word != "none";
  fields.fail(field,
              shown(word) + " is not supported, only auto, none and " + std::string(required),
              api_code::kUnsupported);
  return false;
}

/// Returns the name in {"type": "function", "function": {"name"}}, or {"type": "function", "name"}.
std::string take_name(const BodyFields& choice, ToolDialect dialect) {
  if (dialect != ToolDialect::kChat) return std::string(choice.needed_text("name"));
  const BodyFields function = choice.needed_child("function");
  std::string name(function.needed_text("name"));
  function.finish();
  return name;
}

/// Takes the functions of `allowed_tools`, as tool_choice has one.
void take_allowed(const BodyFields& allowed, ToolDialect dialect, ToolChoice& choice) {
  const auto list = allowed.array("tools");
  if (!list || list->size() == 0) return allowed.fail("tools", "is missing", api_code::kMissing);
  for (const dom::element entry : *list) {
    if (choice.only.size() == defaults::kMaxTools) {
      return allowed.fail("tools", "has more than " + std::to_string(defaults::kMaxTools));
    }
    const BodyFields tool(entry.get_object(), indexed("tools", choice.only.size()), allowed);
    const std::string_view type = tool.needed_text("type");
    if (type != "function") {
      tool.fail("type", shown(type) + " is not supported, only function", api_code::kUnsupported);
    }
    choice.only.push_back(take_name(tool, dialect));
    tool.finish();
    if (allowed.error()) return;
  }
}

bool take_object(const BodyFields& fields, dom::element element, ToolDialect dialect,
                 ToolChoice& choice) {
  const BodyFields object(element.get_object(), std::string(kChoiceField), fields);
  const std::string_view type = object.needed_text("type");
  bool may_call = true;
  if (type == "function") {
    choice.mode = Mode::kRequired;
    choice.only = {take_name(object, dialect)};
  } else if (type == "allowed_tools") {
    const auto take = [&](const BodyFields& allowed) {
      may_call = take_mode(allowed, "mode", allowed.needed_text("mode"), "required", choice);
      take_allowed(allowed, dialect, choice);
    };
    if (dialect == ToolDialect::kChat) {
      const BodyFields inner = object.needed_child("allowed_tools");
      take(inner);
      inner.finish();
    } else {
      take(object);
    }
  } else {
    object.fail("type", shown(type) + " is not supported, only function and allowed_tools",
                api_code::kUnsupported);
  }
  object.finish();
  return may_call;
}

/// Takes the choice of Messages, which is an object.
bool take_messages_choice(const BodyFields& fields, Request& request) {
  const auto object = fields.object(kChoiceField);
  if (!object) return true;
  const BodyFields choice(*object, std::string(kChoiceField), fields);
  const std::string_view type = choice.needed_text("type");
  bool may_call = true;
  if (type == "tool") {
    request.tool_choice.mode = Mode::kRequired;
    request.tool_choice.only = {std::string(choice.needed_text("name"))};
  } else {
    may_call = take_mode(choice, "type", type, "any", request.tool_choice);
  }
  request.parallel_tool_calls = !choice.flag("disable_parallel_tool_use").value_or(false);
  choice.finish();
  return may_call;
}

}  // namespace

bool take_tool_choice(BodyFields& fields, ToolDialect dialect, Request& request) {
  if (dialect == ToolDialect::kMessages) return take_messages_choice(fields, request);
  request.parallel_tool_calls = fields.flag("parallel_tool_calls").value_or(true);
  const auto choice = fields.any(kChoiceField);
  if (!choice) return true;
  std::string_view word;
  if (choice->get(word) == simdjson::SUCCESS) {
    return take_mode(fields, kChoiceField, word, "required", request.tool_choice);
  }
  if (choice->is_object()) return take_object(fields, *choice, dialect, request.tool_choice);
  fields.fail(kChoiceField, "must be a string or an object", api_code::kInvalidType);
  return false;
}

void check_tool_choice(BodyFields& fields, const Request& request) {
  const ToolChoice& choice = request.tool_choice;
  const auto* const tools = request.tools.if_array();
  if (tools == nullptr && choice.constrains()) {
    return fields.fail(kChoiceField, "asks for a call, and there are no tools");
  }
  for (const std::string& name : choice.only) {
    const bool is_there = std::ranges::any_of(*tools, [&](const boost::json::value& tool) {
      return tool.at("function").at("name").as_string() == name;
    });
    if (!is_there) return fields.fail(kChoiceField, shown(name) + " is the name of no tool");
  }
}

}  // namespace weft
