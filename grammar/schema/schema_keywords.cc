#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/grammar/schema/json_schema.h"

// The list of keywords, and the keywords that are rewritten as others.

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

/// Keywords that have no effect on the text.
constexpr std::array<std::string_view, 20> kAnnotations = {"$schema",
                                                           "$id",
                                                           "id",
                                                           "$comment",
                                                           "$anchor",
                                                           "$defs",
                                                           "definitions",
                                                           "title",
                                                           "description",
                                                           "default",
                                                           "examples",
                                                           "example",
                                                           "deprecated",
                                                           "readOnly",
                                                           "writeOnly",
                                                           "$vocabulary",
                                                           "contentMediaType",
                                                           "contentEncoding",
                                                           "discriminator",
                                                           "externalDocs"};

constexpr std::array<std::string_view, 32> kKeywords = {"$ref",
                                                        "type",
                                                        "enum",
                                                        "const",
                                                        "anyOf",
                                                        "oneOf",
                                                        "allOf",
                                                        "properties",
                                                        "required",
                                                        "additionalProperties",
                                                        "patternProperties",
                                                        "propertyNames",
                                                        "minProperties",
                                                        "maxProperties",
                                                        "items",
                                                        "prefixItems",
                                                        "additionalItems",
                                                        "minItems",
                                                        "maxItems",
                                                        "uniqueItems",
                                                        "minLength",
                                                        "maxLength",
                                                        "pattern",
                                                        "format",
                                                        "minimum",
                                                        "maximum",
                                                        "exclusiveMinimum",
                                                        "exclusiveMaximum",
                                                        "multipleOf",
                                                        "nullable",
                                                        "dependentRequired",
                                                        kExcept};

/// The type that a keyword applies to.
struct TypedKeyword {
  std::string_view keyword;
  std::string_view type;
};
constexpr std::array<TypedKeyword, 22> kTypedKeywords = {{
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"patternProperties", "object"},
    {"propertyNames", "object"},
    {"minProperties", "object"},
    {"maxProperties", "object"},
    {"items", "array"},
    {"prefixItems", "array"},
    {"additionalItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"uniqueItems", "array"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"pattern", "string"},
    {"format", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
    {"multipleOf", "number"},
}};

/// Returns whether a value contains a reference to a place in its document.
bool has_local_reference(const Value& value) {
  if (const Array* array = value.if_array())
    return std::ranges::any_of(*array, has_local_reference);
  const Object* const object = value.if_object();
  return object != nullptr && std::ranges::any_of(*object, [](const auto& member) {
           const auto* text = member.value().if_string();
           const bool refers = member.key() == "$ref" && text != nullptr && text->starts_with('#');
           return refers || has_local_reference(member.value());
         });
}

/// Keywords that rewritten() expresses by others, some of them only in a lenient schema.
constexpr std::array<std::string_view, 8> kRestated = {
    "nullable", "dependentRequired", "dependencies", "dependentSchemas", "not", "if", "then",
    "else"};

bool is_restated(std::string_view keyword) {
  return std::ranges::find(kRestated, keyword) != kRestated.end();
}

/// Draft 4 and OpenAPI 3.0 have `exclusiveMinimum: true` beside a `minimum`.
struct FlaggedBound {
  std::string_view flag;
  std::string_view bound;
};
constexpr std::array<FlaggedBound, 2> kFlaggedBounds = {
    {{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}}};

bool has_flagged_bound(const Object& object) {
  return std::ranges::any_of(kFlaggedBounds, [&](const FlaggedBound& one) {
    const Value* const flag = object.if_contains(one.flag);
    return flag != nullptr && flag->is_bool();
  });
}

void restate_bounds(Object& object) {
  for (const FlaggedBound& one : kFlaggedBounds) {
    const Value* const flag = object.if_contains(one.flag);
    if (flag == nullptr || !flag->is_bool()) continue;
    const bool excludes = flag->get_bool();
    object.erase(one.flag);
    const Value* const bound = object.if_contains(one.bound);
    if (!excludes || bound == nullptr) continue;
    object[one.flag] = Value(*bound);
    object.erase(one.bound);
  }
}

/// OpenAPI 3.0's `nullable` adds null to the types beside it.
void add_null(Object& object) {
  const Value* const type = object.if_contains("type");
  if (type == nullptr) return;
  Array types = type->is_array() ? type->get_array() : Array{*type};
  if (std::ranges::find(types, Value("null")) == types.end()) types.emplace_back("null");
  object["type"] = std::move(types);
}

}  // namespace

bool is_annotation(std::string_view keyword) {
  return std::ranges::find(kAnnotations, keyword) != kAnnotations.end() ||
         keyword.starts_with("x-");
}

bool is_supported(std::string_view keyword) {
  return std::ranges::find(kKeywords, keyword) != kKeywords.end();
}

std::string_view type_of_keyword(std::string_view keyword) {
  const auto found = std::ranges::find(kTypedKeywords, keyword, &TypedKeyword::keyword);
  return found == kTypedKeywords.end() ? std::string_view() : found->type;
}

bool has_type(const Value& value, std::string_view type) {
  switch (value.kind()) {
    case boost::json::kind::object:
      return type == "object";
    case boost::json::kind::array:
      return type == "array";
    case boost::json::kind::string:
      return type == "string";
    case boost::json::kind::bool_:
      return type == "boolean";
    case boost::json::kind::null:
      return type == "null";
    case boost::json::kind::double_: {
      const double number = value.get_double();
      return type == "number" ||
             (type == "integer" && number == static_cast<double>(static_cast<std::int64_t>(
                                                 std::clamp(number, -9e18, 9e18))));
    }
    default:
      return type == "number" || type == "integer";
  }
}

std::vector<std::string> types_of(const Object& object) {
  std::vector<std::string> types;
  if (const Value* type = object.if_contains("type")) {
    if (type->is_string()) types.emplace_back(type->get_string());
    if (const auto* list = type->if_array()) {
      for (const Value& one : *list)
        types.emplace_back(one.is_string() ? std::string(one.get_string()) : "");
    }
    return types;
  }
  for (const TypedKeyword& one : kTypedKeywords) {
    if (!object.contains(one.keyword)) continue;
    if (std::ranges::find(types, one.type) == types.end()) types.emplace_back(one.type);
  }
  return types;
}

bool SchemaReader::check_keywords(const Object& object, const std::string& path) {
  for (const auto& member : object) {
    if (!work(1)) return false;
    const std::string_view keyword = member.key();
    if (keyword == kExcept && !member.value().is_array()) {
      fail(below(path, keyword), "must be a list", false);
      return false;
    }
    if (is_annotation(keyword) || is_supported(keyword)) continue;
    if (is_lenient() && is_restated(keyword)) continue;  // rewritten() names the ignored part
    if (!lets_pass(below(path, keyword), "this keyword is not supported")) return false;
  }
  if (object.contains("prefixItems") && !has_prefix_items_) {
    lets_pass(below(path, "prefixItems"), "is not a keyword of the draft that $schema names");
  } else if (is_resource(object) && work(size_of(object)) && has_local_reference(object)) {
    lets_pass(below(path, "$id"), "is not supported around references");
  }
  return !error_;
}

bool SchemaReader::is_plain(const Object& object) const {
  const bool knows_all = std::ranges::all_of(object, [&](const auto& member) {
    const std::string_view keyword = member.key();
    return is_annotation(keyword) || (is_supported(keyword) && !is_restated(keyword));
  });
  if (!knows_all || has_flagged_bound(object)) return false;
  const bool keeps_prefix = has_prefix_items_ || !object.contains("prefixItems");
  return keeps_prefix && !(is_resource(object) && has_local_reference(object));
}

SchemaReader::Object SchemaReader::rewritten(const Object& object, const std::string& path) {
  if (is_resource(object) && has_local_reference(object))
    return {};  // the targets of the references are not known
  Object result;
  Array conditions;
  for (const auto& member : object) {
    const std::string_view keyword = member.key();
    const bool is_of_other_draft = keyword == "prefixItems" && !has_prefix_items_;
    if (is_supported(keyword) && !is_restated(keyword) && !is_of_other_draft) {
      result.emplace(keyword, member.value());
    }
  }
  restate_bounds(result);
  for (const auto& member : object) {
    if (is_restated(member.key())) restate(member.key(), object, result, conditions, path);
    if (error_) return {};
  }
  if (conditions.empty()) return result;
  Value& all = result["allOf"];
  if (!all.is_array()) all = Array();
  for (Value& condition : conditions) all.get_array().push_back(std::move(condition));
  return result;
}

void SchemaReader::restate(std::string_view keyword, const Object& object, Object& into,
                           Array& conditions, const std::string& path) {
  const Value& argument = object.at(keyword);
  if (keyword == "nullable") {
    if (!argument.is_bool()) {
      fail(below(path, keyword), "must be true or false", false);
    } else if (argument.get_bool()) {
      add_null(into);
    }
  } else if (keyword == "not") {
    auto allowed = opposite(argument, 0);
    if (allowed) {
      conditions.push_back(*std::move(allowed));
    } else {
      lets_pass(below(path, keyword), "is not supported for this schema");
    }
  } else if (keyword == "if") {
    restate_if(object, conditions, path);
  } else if (keyword != "then" && keyword != "else") {
    restate_dependencies(keyword, object, conditions, path);
  }
}

}  // namespace weft::grammar
