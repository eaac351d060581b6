#include "weft/grammar/schema/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "weft/core/text/hex_value.h"
#include "weft/core/text/utf8.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/text/json/json_text.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

/// They say nothing about the text.
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

constexpr std::array<std::string_view, 29> kKeywords = {"$ref",
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
                                                        "multipleOf"};

/// The types that keywords are about.
struct TypedKeyword {
  std::string_view keyword;
  std::string_view type;
};
constexpr std::array<TypedKeyword, 21> kTypedKeywords = {{
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

std::string text_of(const Value& value) {
  return {value.get_string().data(), value.get_string().size()};
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
    if (type->is_string()) types.push_back(text_of(*type));
    if (const auto* list = type->if_array()) {
      for (const Value& one : *list) types.push_back(one.is_string() ? text_of(one) : "");
    }
    return types;
  }
  for (const TypedKeyword& one : kTypedKeywords) {
    if (!object.contains(one.keyword)) continue;
    if (std::ranges::find(types, one.type) == types.end()) types.emplace_back(one.type);
  }
  return types;
}

/// Whether a schema says that it is of a draft before 2020-12.
bool is_of_older_draft(const Value& root) {
  const Object* const object = root.if_object();
  const Value* const draft = object == nullptr ? nullptr : object->if_contains("$schema");
  if (draft == nullptr || !draft->is_string()) return false;
  const std::string text = text_of(*draft);
  return text.find("/draft-0") != std::string::npos || text.find("/2019-09/") != std::string::npos;
}

/// Whether the numbers in a value are those that were written: digits beyond 64 bits have been
/// lost.
bool is_exact(const Value& value) {
  if (const Array* array = value.if_array()) return std::ranges::all_of(*array, is_exact);
  if (const Object* object = value.if_object()) {
    return std::ranges::all_of(*object,
                               [](const auto& member) { return is_exact(member.value()); });
  }
  return !value.is_double() || std::abs(value.get_double()) < 0x1p63;
}

/// Whether something in a value refers to a place in its document.
bool has_reference(const Value& value) {
  if (const Array* array = value.if_array()) return std::ranges::any_of(*array, has_reference);
  const Object* const object = value.if_object();
  return object != nullptr && std::ranges::any_of(*object, [](const auto& member) {
           const auto* text = member.value().if_string();
           const bool refers = member.key() == "$ref" && text != nullptr && text->starts_with('#');
           return refers || has_reference(member.value());
         });
}

}  // namespace

bool is_annotation(std::string_view keyword) {
  return std::ranges::find(kAnnotations, keyword) != kAnnotations.end() ||
         keyword.starts_with("x-");
}

std::string below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

SchemaReader::Part SchemaReader::fail(const std::string& path, std::string what, bool unsupported) {
  if (!error_) {
    error_ = Error{unsupported ? GrammarErrc::kUnsupportedSchema : GrammarErrc::kBadSchema,
                   path + ": " + std::move(what)};
  }
  return {};
}

bool SchemaReader::work(std::size_t amount) {
  if (!builder_.spend(amount) && !error_) {
    error_ = Error{GrammarErrc::kTooComplex, name_ + ": the schema is too large"};
  }
  return !error_;
}

SchemaReader::SchemaReader(GrammarBuilder& builder, const Value& root, std::string_view name)
    : builder_(builder), root_(root), name_(name), has_prefix_items_(!is_of_older_draft(root)) {}

Result<SchemaReader::Part> SchemaReader::read() {
  const Part part = schema(root_, name_);
  if (error_) return *error_;
  return part;
}

SchemaReader::Part SchemaReader::schema(const Value& value, const std::string& path) {
  if (!work(1 + path.size() / 256)) return {};  // paths are copied for what is inside
  if (value.is_bool()) {
    return value.get_bool() ? builder_.json().value : builder_.any_of(std::span<const Part>());
  }
  if (!value.is_object()) return fail(path, "is neither an object nor true or false", false);
  if (depth_ >= defaults::kMaxGrammarDepth) {
    error_ = Error{GrammarErrc::kTooComplex, path + ": schemas nest too deeply"};
    return {};
  }
  ++depth_;
  const Part part = open_schema(value.get_object(), path);
  --depth_;
  return part;
}

bool SchemaReader::check_keywords(const Object& object, const std::string& path) {
  for (const auto& member : object) {
    if (!work(1)) return false;
    const std::string_view keyword = member.key();
    if (is_annotation(keyword) || std::ranges::find(kKeywords, keyword) != kKeywords.end()) {
      continue;
    }
    fail(below(path, keyword), "this keyword is not supported");
    return false;
  }
  const Value* unique = object.if_contains("uniqueItems");
  if (unique != nullptr && *unique != Value(false)) {
    fail(below(path, "uniqueItems"), "this keyword is not supported");
  } else if (object.contains("prefixItems") && !has_prefix_items_) {
    fail(below(path, "prefixItems"), "is not a keyword of the draft that $schema names");
  } else if (is_resource(object) && work(size_of(object)) && has_reference(object)) {
    fail(below(path, "$id"), "is not supported around references");
  }
  return !error_;
}

SchemaReader::Part SchemaReader::open_schema(const Object& object, const std::string& path) {
  if (!check_keywords(object, path)) return {};
  if (object.contains("$ref")) return reference(object, path);
  if (const Value* all = object.if_contains("allOf")) {
    if (!all->is_array()) return fail(below(path, "allOf"), "must be a list", false);
    Object rest = without(object, "allOf");
    const Array& parts = all->get_array();
    if (rest.empty() && parts.size() == 1) return schema(parts[0], below(path, "allOf[0]"));
    Value whole = std::move(rest);
    std::size_t index = 0;
    for (const Value& one : parts) {
      whole = merged(whole, one, below(path, "allOf[" + std::to_string(index++) + "]"));
      if (error_) return {};
    }
    return whole_schema(whole, path);
  }
  if (object.contains("anyOf")) return alternatives(object, "anyOf", path);
  if (object.contains("oneOf")) return alternatives(object, "oneOf", path);
  if (object.contains("const") || object.contains("enum")) return given(object, path);
  return typed(object, path);
}

SchemaReader::Part SchemaReader::alternatives(const Object& object, std::string_view keyword,
                                              const std::string& path) {
  const std::string where = below(path, keyword);
  const Value& list = object.at(keyword);
  if (!list.is_array() || list.get_array().empty()) {
    return fail(where, "must be a list of schemas", false);
  }
  const auto& schemas = list.get_array();
  if (keyword == "oneOf") {
    if (!work(schemas.size() * schemas.size())) return {};
    for (std::size_t i = 0; i < schemas.size(); ++i) {
      for (std::size_t j = i + 1; j < schemas.size(); ++j) {
        if (exclude_each_other(schemas[i], schemas[j], 0)) continue;
        return fail(where, "alternatives " + std::to_string(i) + " and " + std::to_string(j) +
                               " may both hold, which is not supported");
      }
    }
  }
  const Object rest = without(object, keyword);
  std::vector<Part> parts;
  for (std::size_t i = 0; i < schemas.size() && !error_; ++i) {
    const std::string one = where + "[" + std::to_string(i) + "]";
    if (rest.empty()) {
      parts.push_back(schema(schemas[i], one));
    } else {
      const Value whole = merged(rest, schemas[i], one);
      parts.push_back(whole_schema(whole, one));
    }
  }
  return builder_.any_of(parts);
}

SchemaReader::Part SchemaReader::given(const Object& object, const std::string& path) {
  for (const auto& member : object) {
    const std::string_view keyword = member.key();
    if (keyword != "const" && keyword != "enum" && keyword != "type" && !is_annotation(keyword)) {
      return fail(below(path, keyword), "is not supported beside enum or const");
    }
  }
  std::vector<Value> values;
  const Value* const list = object.if_contains("enum");
  if (list != nullptr && !list->is_array())
    return fail(below(path, "enum"), "must be a list", false);
  if (const Value* one = object.if_contains("const")) {
    const bool is_listed =
        list == nullptr || std::ranges::find(list->get_array(), *one) != list->get_array().end();
    if (is_listed) values.push_back(*one);
  } else {
    values.assign(list->get_array().begin(), list->get_array().end());
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!work(size_of(values[i]))) return {};
    if (is_exact(values[i])) continue;
    const std::string place = list != nullptr ? "enum[" + std::to_string(i) + "]" : "const";
    return fail(below(path, place), "has a number beyond 64 bits, which is not supported");
  }
  if (object.contains("type")) {
    const std::vector<std::string> types = types_of(object);
    if (!work(values.size() * types.size())) return {};
    std::erase_if(values, [&](const Value& value) {
      return std::ranges::none_of(types, [&](const auto& type) { return has_type(value, type); });
    });
  }
  std::vector<Part> parts;
  std::vector<std::string> scalars;
  for (const Value& value : values) {
    if (value.is_object() || value.is_array()) {
      parts.push_back(given_value(builder_, value));
    } else {
      scalars.push_back(scalar_text(builder_, value));
    }
  }
  if (!scalars.empty()) parts.push_back(builder_.choice(scalars));
  return builder_.any_of(parts);
}

SchemaReader::Part SchemaReader::typed(const Object& object, const std::string& path) {
  std::vector<std::string> types = types_of(object);
  if (object.contains("type") && types.empty()) {
    return fail(below(path, "type"), "must be a string or a list of strings", false);
  }
  if (types.empty()) return builder_.json().value;
  std::vector<Part> parts;
  for (const std::string& type : types) parts.push_back(of_type(type, object, path));
  return builder_.any_of(parts);
}

SchemaReader::Part SchemaReader::of_type(std::string_view type, const Object& object,
                                         const std::string& path) {
  if (error_) return {};
  if (type == "object") return object_part(object, path);
  if (type == "array") return array_part(object, path);
  if (type == "string") return string_part(object, path);
  if (type == "number") return number_part(object, false, path);
  if (type == "integer") return number_part(object, true, path);
  if (type == "boolean") {
    return builder_.any_of({builder_.literal(scalar_text(builder_, Value(true))),
                            builder_.literal(scalar_text(builder_, Value(false)))});
  }
  if (type == "null") return builder_.literal(scalar_text(builder_, Value()));
  return fail(below(path, "type"), "'" + std::string(cut_utf8(type, 80)) + "' is no type", false);
}

std::optional<std::uint64_t> SchemaReader::count(const Object& object, std::string_view keyword,
                                                 const std::string& path) {
  const Value* const value = object.if_contains(keyword);
  if (value == nullptr) return std::nullopt;
  boost::system::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  if (error || number >= kNoBound) {
    fail(below(path, keyword), "must be a whole number of 0 or more", false);
    return std::nullopt;
  }
  return number;
}

}  // namespace weft::grammar

namespace weft {

Result<GrammarBuilder::Part> GrammarBuilder::json_schema(std::string_view schema,
                                                         std::string_view name) {
  if (schema.size() > defaults::kMaxGrammarText) {
    return Error{GrammarErrc::kTooComplex, std::string(name) + ": the schema is longer than " +
                                               std::to_string(defaults::kMaxGrammarText) +
                                               " bytes"};
  }
  std::string problem;
  auto root = parse_json(schema, defaults::kMaxGrammarDepth, problem);
  if (!problem.empty()) {
    return Error{GrammarErrc::kBadSchema, std::string(name) + ": " + problem};
  }
  grammar::write_numbers_alike(root);
  return grammar::SchemaReader(*this, root, name).read();
}

Result<GrammarBuilder::Part> GrammarBuilder::parsed_json_schema(const boost::json::value& schema,
                                                                std::string_view name) {
  boost::json::value root = schema;
  grammar::write_numbers_alike(root);
  return grammar::SchemaReader(*this, root, name).read();
}

}  // namespace weft
