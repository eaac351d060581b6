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

// Schemas of parameters nest little; a schema that refers to itself is followed to this depth.
constexpr int kMaxSchemaDepth = 8;

/// The types that a schema allows, as far as the schema is read.
struct Allowed {
  bool text = false;
  bool null = false;
  bool other = false;
  bool known = true;  ///< whether the schema determines the type

  void add(const Allowed& more) {
    text |= more.text;
    null |= more.null;
    other |= more.other;
    known &= more.known;
  }
};

constexpr Allowed kAnything{.known = false};

Allowed of_type(std::string_view name) {
  return {.text = name == "string",
          .null = name == "null",
          .other = name != "string" && name != "null"};
}

Allowed of_value(const json::value& value) {
  return {.text = value.is_string(),
          .null = value.is_null(),
          .other = !value.is_string() && !value.is_null()};
}

/// Returns the definition that a local reference names: "#/$defs/NAME".
const json::value* definition(const json::object& whole, std::string_view reference) {
  for (const std::string_view list : {"$defs", "definitions"}) {
    const std::string begin = "#/" + std::string(list) + "/";
    const json::object* const found =
        reference.starts_with(begin) ? object_in(whole, list) : nullptr;
    if (found != nullptr) return found->if_contains(reference.substr(begin.size()));
  }
  return nullptr;
}

Allowed allowed_by(const json::value& schema, const json::object& whole, int depth);

template <class Each>
Allowed of_each(const json::array& list, const Each& each) {
  Allowed all;
  for (const json::value& one : list) all.add(each(one));
  return list.empty() ? kAnything : all;
}

Allowed of_types(const json::value& type) {
  if (const json::string* const name = type.if_string()) return of_type(*name);
  const json::array* const list = type.if_array();
  if (list == nullptr) return kAnything;
  return of_each(*list, [](const json::value& one) {
    return one.is_string() ? of_type(one.get_string()) : kAnything;
  });
}

Allowed allowed_by(const json::value& schema, const json::object& whole, int depth) {
  const json::object* const object = schema.if_object();
  if (object == nullptr || depth > kMaxSchemaDepth) return kAnything;
  const json::value* const nullable = object->if_contains("nullable");
  const bool may_be_null = nullable != nullptr && *nullable == json::value(true);
  Allowed all = kAnything;
  if (const json::value* const type = object->if_contains("type")) {
    all = of_types(*type);
  } else if (const json::value* const only = object->if_contains("const")) {
    all = of_value(*only);
  } else if (const json::value* const list = object->if_contains("enum");
             list && list->is_array()) {
    all = of_each(list->get_array(), of_value);
  } else if (const json::value* const to = object->if_contains("$ref"); to && to->is_string()) {
    const json::value* const found = definition(whole, to->get_string());
    if (found != nullptr) all = allowed_by(*found, whole, depth + 1);
  } else {
    for (const std::string_view name : {"anyOf", "oneOf"}) {
      const json::value* const ways = object->if_contains(name);
      if (ways == nullptr || !ways->is_array()) continue;
      all = of_each(ways->get_array(),
                    [&](const json::value& one) { return allowed_by(one, whole, depth + 1); });
    }
  }
  all.null |= may_be_null;
  return all;
}

ToolSchemas::Type type_in(const json::value& schema, const json::object& whole) {
  const Allowed allowed = allowed_by(schema, whole, 0);
  if (!allowed.known) return ToolSchemas::Type::kUnknown;
  if (!allowed.text) return ToolSchemas::Type::kOther;
  if (allowed.other) return ToolSchemas::Type::kUnknown;
  return allowed.null ? ToolSchemas::Type::kOptionalText : ToolSchemas::Type::kText;
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
        parameters.emplace(key, type_in(value, *schema));
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
