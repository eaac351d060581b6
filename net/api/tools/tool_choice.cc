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

/// Takes a word for the choice's mode, such as "auto". Returns whether there is one.
bool take_mode(const BodyFields& fields, std::string_view field, std::string_view word,
               std::string_view required, ToolChoice& choice) {
  if (word == required) choice.mode = Mode::kRequired;
  if (word == "auto" || word == "none" || word == required) return word != "none";
  fields.fail(field,
              shown(word) + " is not supported, only auto, none and " + std::string(required),
              api_code::kUnsupported);
  return false;
}

/// Returns whether a choice of this type names a client's tool.
bool is_named(std::string_view type, ToolDialect dialect) {
  return type == "function" || (type == "custom" && dialect == ToolDialect::kResponses);
}

/// Returns the name in {"type": "function", "function": {"name"}}, or {"type": "function", "name"}.
std::string take_name(const BodyFields& choice, ToolDialect dialect) {
  if (dialect != ToolDialect::kChat) {
    const std::string_view name_space = choice.text("namespace").value_or("");
    return function_name(name_space, choice.needed_text("name"));
  }
  const BodyFields function = choice.needed_child("function");
  std::string name(function.needed_text("name"));
  function.finish();
  return name;
}

/// Takes the tools of `allowed_tools`, a member of tool_choice.
void take_allowed(const BodyFields& allowed, ToolDialect dialect, ToolChoice& choice,
                  ChosenTools& chosen) {
  const auto list = allowed.array("tools");
  if (!list || list->size() == 0) return allowed.fail("tools", "is missing", api_code::kMissing);
  chosen.limited = true;
  if (!has_at_most(allowed, "tools", *list, defaults::kMaxTools, "tools")) return;
  std::size_t index = 0;
  for (const dom::element entry : *list) {
    const BodyFields tool(entry.get_object(), allowed.path_of(indexed("tools", index++)), allowed);
    const std::string_view type = tool.needed_text("type");
    if (is_named(type, dialect)) {
      choice.only.push_back(take_name(tool, dialect));
      tool.finish();
    } else {
      chosen.hosted.emplace_back(type);
    }
    if (allowed.error()) return;
  }
}

void take_object(const BodyFields& fields, dom::element element, ToolDialect dialect,
                 ToolChoice& choice, ChosenTools& chosen) {
  const BodyFields object(element.get_object(), std::string(kChoiceField), fields);
  const std::string_view type = object.needed_text("type");
  if (is_named(type, dialect)) {
    choice.mode = Mode::kRequired;
    choice.only = {take_name(object, dialect)};
  } else if (type == "allowed_tools") {
    const auto take = [&](const BodyFields& allowed) {
      chosen.may_call = take_mode(allowed, "mode", allowed.needed_text("mode"), "required", choice);
      take_allowed(allowed, dialect, choice, chosen);
    };
    if (dialect == ToolDialect::kChat) {
      const BodyFields inner = object.needed_child("allowed_tools");
      take(inner);
      inner.finish();
    } else {
      take(object);
    }
  } else {
    object.fail("type",
                shown(type) + " cannot be called: only a function can be chosen, or allowed_tools",
                api_code::kUnsupported);
  }
  object.finish();
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

bool has_function(const ToolList& tools, std::string_view name) {
  return std::ranges::any_of(tools.functions, [name](const boost::json::value& tool) {
    return tool.at("function").at("name").as_string() == name;
  });
}

/// Reports why no tool can be called, although the request requires a call.
void refuse_without_functions(BodyFields& fields, const ToolList& tools,
                              const ChosenTools& chosen) {
  if (!tools.hidden.empty()) {
    const HiddenTool& tool = tools.hidden.front();
    return fields.fail(kChoiceField, "asks for a call, and " + shown(tool.name) + ' ' + tool.reason,
                       api_code::kUnsupported);
  }
  if (!chosen.hosted.empty()) {
    return fields.fail(
        kChoiceField,
        "asks for a call of " + shown(chosen.hosted.front()) + ", which this server does not run",
        api_code::kUnsupported);
  }
  fields.fail(kChoiceField, "asks for a call, and there are no tools");
}

}  // namespace

ChosenTools take_tool_choice(BodyFields& fields, ToolDialect dialect, Request& request) {
  ChosenTools chosen;
  if (dialect == ToolDialect::kMessages) {
    chosen.may_call = take_messages_choice(fields, request);
    return chosen;
  }
  request.parallel_tool_calls = fields.flag("parallel_tool_calls").value_or(true);
  const auto choice = fields.any(kChoiceField);
  if (!choice) return chosen;
  std::string_view word;
  if (choice->get(word) == simdjson::SUCCESS) {
    chosen.may_call = take_mode(fields, kChoiceField, word, "required", request.tool_choice);
  } else if (choice->is_object()) {
    take_object(fields, *choice, dialect, request.tool_choice, chosen);
  } else {
    fields.fail(kChoiceField, "must be a string or an object", api_code::kInvalidType);
  }
  return chosen;
}

void check_tool_choice(BodyFields& fields, ChosenTools& chosen, const ToolList& tools,
                       const Request& request) {
  if (fields.error() || !chosen.may_call) return;
  const ToolChoice& choice = request.tool_choice;
  for (const std::string& name : choice.only) {
    if (has_function(tools, name)) continue;
    if (const HiddenTool* const hidden = tools.hidden_tool(name)) {
      return fields.fail(kChoiceField, shown(name) + ' ' + hidden->reason, api_code::kUnsupported);
    }
    if (tools.functions.empty()) return refuse_without_functions(fields, tools, chosen);
    return fields.fail(kChoiceField, shown(name) + " is the name of no tool");
  }
  const bool nothing = chosen.limited ? choice.only.empty() : tools.functions.empty();
  if (!nothing) return;
  if (choice.mode == Mode::kRequired) return refuse_without_functions(fields, tools, chosen);
  chosen.may_call = false;
}

}  // namespace weft
