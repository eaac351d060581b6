#include "weft/grammar/schema/json_schema.h"

#include <algorithm>
#include <array>
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
    return false;
  }
  return true;
}

SchemaReader::Part SchemaReader::open_schema(const Object& object, const std::string& path) {
  if (!check_keywords(object, path)) return {};
  if (object.contains("$ref")) return reference(object, path);
  if (const Value* all = object.if_contains("allOf")) {
    if (!all->is_array()) return fail(below(path, "allOf"), "must be a list", false);
    Object rest = object;
    rest.erase("allOf");
    Value whole = rest;
    std::size_t index = 0;
    for (const Value& one : all->get_array()) {
      whole = merged(whole, one, below(path, "allOf[" + std::to_string(index++) + "]"));
      if (error_) return {};
    }
    return schema(whole, path);
  }
  if (object.contains("anyOf")) return alternatives(object, "anyOf", path);
  if (object.contains("oneOf")) return alternatives(object, "oneOf", path);
  if (object.contains("const") || object.contains("enum")) return given(object, path);
  return typed(object, path);
}

const Value* SchemaReader::resolve(std::string_view reference, const std::string& path) {
  const std::string where = below(path, "$ref");
  if (reference == "#") return &root_;
  if (!reference.starts_with("#/")) {
    fail(where, "'" + std::string(cut_utf8(reference, 80)) + "' is not a place in this schema");
    return nullptr;
  }
  // Percent escapes are those of the URI that a reference is.
  std::string pointer;
  for (std::size_t i = 1; i < reference.size(); ++i) {
    if (reference[i] == '%' && i + 2 < reference.size() && hex_value(reference[i + 1]) >= 0 &&
        hex_value(reference[i + 2]) >= 0) {
      pointer += static_cast<char>(hex_value(reference[i + 1]) * 16 + hex_value(reference[i + 2]));
      i += 2;
    } else {
      pointer += reference[i];
    }
  }
  boost::system::error_code missing;
  const Value* found = root_.find_pointer(pointer, missing);
  if (found == nullptr) {
    fail(where, "'" + std::string(cut_utf8(reference, 80)) + "' is not there", false);
  }
  return found;
}

SchemaReader::Part SchemaReader::reference(const Object& object, const std::string& path) {
  const Value& ref = object.at("$ref");
  if (!ref.is_string()) return fail(below(path, "$ref"), "must be a string", false);
  const std::string text = text_of(ref);
  Object rest;
  for (const auto& member : object) {
    if (member.key() != "$ref" && !is_annotation(member.key()))
      rest.emplace(member.key(), member.value());
  }
  if (!rest.empty()) {
    const Value* const where = resolve(text, path);
    if (where == nullptr) return {};
    const Value whole = merged(*where, rest, path);
    return error_ ? Part{} : schema(whole, path);
  }
  const auto [found, is_new] = references_.try_emplace(text);
  if (!is_new) return found->second;
  const Value* const where = resolve(text, path);
  if (where == nullptr) return {};
  const Part rule = found->second = builder_.reserve_rule();
  // The path says how the schema is reached, and stays short where references nest.
  const std::string at = name_ + "." + text;
  const std::size_t depth = std::exchange(depth_, 0);
  if (++reference_depth_ > defaults::kMaxGrammarDepth) {
    error_ = Error{GrammarErrc::kTooComplex, path + ": references nest too deeply"};
  } else {
    builder_.define(rule, schema(*where, at));
  }
  --reference_depth_;
  depth_ = depth;
  return rule;
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
  Object rest;
  for (const auto& member : object) {
    if (member.key() != keyword && !is_annotation(member.key())) {
      rest.emplace(member.key(), member.value());
    }
  }
  std::vector<Part> parts;
  for (std::size_t i = 0; i < schemas.size() && !error_; ++i) {
    const std::string one = where + "[" + std::to_string(i) + "]";
    if (rest.empty()) {
      parts.push_back(schema(schemas[i], one));
    } else {
      const Value whole = merged(rest, schemas[i], one);
      parts.push_back(error_ ? Part{} : schema(whole, one));
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
  if (!work(values.size())) return {};
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
  const auto root = parse_json(schema, defaults::kMaxGrammarDepth, problem);
  if (!problem.empty()) {
    return Error{GrammarErrc::kBadSchema, std::string(name) + ": " + problem};
  }
  return grammar::SchemaReader(*this, root, name).read();
}

Result<GrammarBuilder::Part> GrammarBuilder::parsed_json_schema(const boost::json::value& schema,
                                                                std::string_view name) {
  return grammar::SchemaReader(*this, schema, name).read();
}

}  // namespace weft
