#include "weft/net/api/tools/tool_list.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <optional>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/json_value.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
namespace json = boost::json;

/// The model's name for the client's tool search.
constexpr std::string_view kSearchName = "tool_search";
constexpr std::string_view kExamples = "examples";

bool may_name_function(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= defaults::kMaxFunctionName &&
         std::ranges::all_of(name, fits);
}

std::string_view take_name(const BodyFields& tool) {
  const std::string_view name = tool.needed_text("name");
  if (!may_name_function(name)) {
    tool.fail("name", "must have 1 to " + std::to_string(defaults::kMaxFunctionName) +
                          " letters, digits, '_', '-' or '.'");
  }
  return name;
}

json::object no_parameters() { return {{"type", "object"}, {"properties", json::object()}}; }

/// Returns a function in the form that templates know, with its fields in the order that models
/// were trained with.
json::object function_of(const BodyFields& tool, std::string_view name_space,
                         std::string_view schema) {
  json::object made{{"name", function_name(name_space, take_name(tool))}};
  if (const auto description = tool.text("description")) made["description"] = *description;
  made["parameters"] = no_parameters();
  if (tool.object(schema)) made["parameters"] = to_json(*tool.any(schema));
  return made;
}

/// Takes `input_examples`: the model gets them as the `examples` of the schema.
void take_examples(const BodyFields& tool, json::object& function) {
  const auto list = tool.array("input_examples");
  if (!list || list->size() == 0) return;
  std::size_t index = 0;
  for (const dom::element example : *list) {
    if (!example.is_object()) {
      return tool.fail(indexed("input_examples", index), "must be an object",
                       api_code::kInvalidType);
    }
    ++index;
  }
  json::object& schema = function["parameters"].as_object();
  if (!schema.contains(kExamples)) schema[kExamples] = to_json(*tool.any("input_examples"));
}

/// Takes `allowed_callers`. Returns whether the model itself is one of the callers.
bool take_callers(const BodyFields& tool) {
  const auto list = tool.array("allowed_callers");
  bool direct = !list || list->size() == 0;
  if (!list) return direct;
  std::size_t index = 0;
  for (const dom::element entry : *list) {
    std::string_view caller;
    if (entry.get(caller) != simdjson::SUCCESS) {
      tool.fail(indexed("allowed_callers", index), "must be a string", api_code::kInvalidType);
      return false;
    }
    direct = direct || caller == "direct";
    ++index;
  }
  return direct;
}

/// Returns the part of a custom tool's description that explains the form of its text.
std::string form_of(const BodyFields& tool) {
  const auto object = tool.object("format");
  if (!object) return {};
  const BodyFields format(*object, tool.path_of("format"), tool);
  const std::string_view type = format.needed_text("type");
  std::string said;
  if (type == "grammar") {
    const std::string_view syntax = format.needed_text("syntax");
    const std::string_view definition = format.needed_text("definition");
    if (syntax != "lark" && syntax != "regex") {
      format.fail("syntax", shown(syntax) + " is neither lark nor regex", api_code::kUnsupported);
    }
    said = std::string("The input follows this ") +
           (syntax == "lark" ? "Lark grammar" : "regular expression") + ":\n";
    said.append(definition);
  } else if (type != "text") {
    format.fail("type", shown(type) + " is neither text nor grammar", api_code::kUnsupported);
  }
  format.finish();
  return said;
}

/// Returns whether a tool is described well enough for the model to call it. An API's own tool is
/// not.
bool is_described(const BodyFields& tool) {
  constexpr std::array<std::string_view, 4> kDescriptions = {"function", "parameters",
                                                             "input_schema", "custom"};
  return std::ranges::any_of(kDescriptions,
                             [&](std::string_view name) { return tool.any(name).has_value(); });
}

void ignore_extras(const BodyFields& tool) {
  tool.ignore({"cache_control", "defer_loading", "eager_input_streaming", "output_schema"});
}

}  // namespace

const HiddenTool* ToolList::hidden_tool(std::string_view name) const {
  const auto found = std::ranges::find_if(
      hidden, [name](const HiddenTool& tool) { return tool.name == name || tool.type == name; });
  return found == hidden.end() ? nullptr : &*found;
}

void ToolReader::read(const BodyFields& owner, std::string_view name) {
  again_ = false;
  read_list(owner, name, {});
}

void ToolReader::read_again(const BodyFields& owner, std::string_view name) {
  again_ = true;
  read_list(owner, name, {});
}

void ToolReader::read_one(const BodyFields& tool) {
  again_ = true;
  take_tool(tool, {});
}

void ToolReader::read_list(const BodyFields& owner, std::string_view name,
                           std::string_view name_space) {
  const auto list = owner.array(name);
  if (!list || !has_at_most(owner, name, *list, defaults::kMaxTools, "tools")) return;
  std::size_t index = 0;
  for (const dom::element entry : *list) {
    const BodyFields tool(entry.get_object(), owner.path_of(indexed(name, index++)), owner);
    take_tool(tool, name_space);
    if (owner.error()) return;
  }
}

void ToolReader::take_tool(const BodyFields& tool, std::string_view name_space) {
  const bool messages = dialect_ == ToolDialect::kMessages;
  const bool responses = dialect_ == ToolDialect::kResponses;
  const std::string_view type =
      messages ? tool.text("type").value_or("custom") : tool.needed_text("type");
  if (tool.error()) return;
  if (messages && type == "custom") return take_message_function(tool);
  if (!messages && type == "function") {
    return responses ? take_function(tool, name_space) : take_chat_function(tool);
  }
  if (responses && type == "custom") return take_custom(tool, name_space);
  if (responses && type == "namespace" && name_space.empty()) return take_namespace(tool);
  if (responses && type == kSearchName && tool.text("execution").value_or("") == "client") {
    return take_search(tool);
  }
  hide(tool, type);
}

void ToolReader::take_namespace(const BodyFields& tool) {
  const std::string_view name = take_name(tool);
  static_cast<void>(tool.text("description"));  // each function has its own description
  if (!tool.array("tools")) tool.fail("tools", "is missing", api_code::kMissing);
  read_list(tool, "tools", name);
  tool.finish();
}

void ToolReader::take_function(const BodyFields& tool, std::string_view name_space) {
  ignore_extras(tool);
  json::object function = function_of(tool, name_space, "parameters");
  add(tool, tool.flag("strict"), std::move(function),
      {ToolKind::kFunction, std::string(name_space), std::string(tool.text("name").value_or(""))});
  tool.finish();
}

void ToolReader::take_chat_function(const BodyFields& tool) {
  ignore_extras(tool);
  const BodyFields inner = tool.needed_child("function");
  add(tool, inner.flag("strict"), function_of(inner, {}, "parameters"), {});
  inner.finish();
  tool.finish();
}

void ToolReader::take_message_function(const BodyFields& tool) {
  ignore_extras(tool);
  json::object function = function_of(tool, {}, "input_schema");
  take_examples(tool, function);
  const auto strict = tool.flag("strict");
  if (take_callers(tool)) {
    add(tool, strict, std::move(function), {});
  } else {
    const json::string& name = function["name"].as_string();
    tools_.hidden.push_back(
        {.name = std::string(name.data(), name.size()),
         .reason = "is not for the model to call: its allowed_callers are without direct"});
  }
  tool.finish();
}

void ToolReader::take_custom(const BodyFields& tool, std::string_view name_space) {
  ignore_extras(tool);
  const std::string_view name = take_name(tool);
  json::object function{{"name", function_name(name_space, name)}};
  std::string description(tool.text("description").value_or(""));
  const std::string form = form_of(tool);
  if (!form.empty()) description.append(description.empty() ? "" : "\n\n").append(form);
  if (!description.empty()) function["description"] = description;
  function["parameters"] = {
      {"type", "object"},
      {"properties",
       {{"input", {{"type", "string"}, {"description", "The whole text of the input."}}}}},
      {"required", json::array{"input"}}};
  add(tool, false, std::move(function),
      {ToolKind::kCustom, std::string(name_space), std::string(name)});
  tool.finish();
}

void ToolReader::take_search(const BodyFields& tool) {
  ignore_extras(tool);
  json::object function{{"name", kSearchName}};
  if (const auto description = tool.text("description")) function["description"] = *description;
  function["parameters"] = no_parameters();
  if (tool.object("parameters")) function["parameters"] = to_json(*tool.any("parameters"));
  add(tool, false, std::move(function), {ToolKind::kSearch, {}, std::string(kSearchName)});
  tool.finish();
}

void ToolReader::hide(const BodyFields& tool, std::string_view type) {
  if (is_described(tool) && type != kSearchName) {
    const bool messages = dialect_ == ToolDialect::kMessages;
    return tool.fail("type",
                     shown(type) + " is not supported with a function, only " +
                         (messages ? "custom" : "function"),
                     api_code::kUnsupported);
  }
  tools_.hidden.push_back(
      {.name = std::string(tool.text("name").value_or(type)),
       .type = std::string(type),
       .reason = "is a tool of the type " + shown(type) + ", which this server does not run"});
}

void ToolReader::add(const BodyFields& tool, std::optional<bool> strict, json::object function,
                     ToolOrigin origin) {
  if (tool.error()) return;
  const json::string& text = function["name"].as_string();
  const std::string name(text.data(), text.size());
  if (!names_.insert(name).second) {
    if (!again_) tool.fail({}, "has the name of another one");
    return;
  }
  if (tools_.functions.size() == defaults::kMaxTools) {
    return tool.fail({}, "is one function more than " + std::to_string(defaults::kMaxTools));
  }
  if (strict.value_or(false)) tools_.strict.push_back(name);
  if (origin.kind != ToolKind::kFunction || !origin.name_space.empty()) {
    tools_.origins.add(name, std::move(origin));
  }
  tools_.functions.push_back({{"type", "function"}, {"function", std::move(function)}});
  tools_.places.push_back(tool.path());
}

namespace {

void append_names(dom::array tools, std::string_view name_space, std::string& names) {
  for (const dom::element tool : tools) {
    std::string_view name;
    dom::array nested;
    if (tool.at_key("name").get(name) != simdjson::SUCCESS) continue;
    if (name_space.empty() && tool.at_key("tools").get(nested) == simdjson::SUCCESS) {
      append_names(nested, name, names);
    } else {
      names.append(names.empty() ? "" : ", ").append(function_name(name_space, name));
    }
  }
}

}  // namespace

std::string function_names(dom::array tools) {
  std::string names;
  append_names(tools, {}, names);
  return names;
}

}  // namespace weft
