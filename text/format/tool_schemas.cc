#include "weft/text/format/tool_schemas.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

namespace weft {
namespace {

namespace json = boost::json;

const json::object* object_in(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

/// A list of types with "string" in it: what has no quotes is a text, unless it is JSON.
ToolSchemas::Type type_in(const json::object& schema) {
  const json::value* const type = schema.if_contains("type");
  if (type == nullptr) return ToolSchemas::Type::kUnknown;
  const json::string* const name = type->if_string();
  if (name == nullptr) return ToolSchemas::Type::kUnknown;
  return *name == "string" ? ToolSchemas::Type::kText : ToolSchemas::Type::kOther;
}

}  // namespace

ToolSchemas::ToolSchemas(const json::value& tools) {
  const json::array* const list = tools.if_array();
  if (list == nullptr) return;
  for (const json::value& tool : *list) {
    const json::object* const entry = tool.if_object();
    const json::object* const function = entry ? object_in(*entry, "function") : nullptr;
    const json::value* const name = function ? function->if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string()) continue;
    Parameters parameters;
    const json::object* const schema = object_in(*function, "parameters");
    const json::object* const properties = schema ? object_in(*schema, "properties") : nullptr;
    if (properties != nullptr) {
      for (const auto& [key, value] : *properties) {
        const json::object* const one = value.if_object();
        parameters.emplace(key, one ? type_in(*one) : Type::kUnknown);
      }
    }
    functions_.emplace(std::string(name->get_string()), std::move(parameters));
  }
}

ToolSchemas::Type ToolSchemas::type_of(std::string_view function,
                                       std::string_view parameter) const {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return Type::kUnknown;
  const auto type = found->second.find(parameter);
  return type == found->second.end() ? Type::kUnknown : type->second;
}

}  // namespace weft
