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

constexpr std::array<std::string_view, 7> kTypes = {"object",  "array",   "string", "number",
                                                    "integer", "boolean", "null"};

/// Whether a schema declares a draft before 2020-12.
bool is_of_older_draft(const Value& root) {
  const Object* const object = root.if_object();
  const Value* const draft = object == nullptr ? nullptr : object->if_contains("$schema");
  if (draft == nullptr || !draft->is_string()) return false;
  const std::string text(draft->get_string());
  return text.find("/draft-0") != std::string::npos || text.find("/2019-09/") != std::string::npos;
}

}  // namespace

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

bool SchemaReader::lets_pass(const std::string& path, std::string what) {
  if (!is_lenient()) {
    fail(path, std::move(what));
    return false;
  }
  if (!error_) builder_.let_pass(path);
  return !error_;
}

SchemaReader::SchemaReader(GrammarBuilder& builder, const Value& root, std::string_view name,
                           Strictness strictness)
    : builder_(builder),
      root_(root),
      name_(name),
      strictness_(strictness),
      has_prefix_items_(!is_of_older_draft(root)) {}

Result<SchemaReader::Part> SchemaReader::read() {
  const Part part = schema(root_, name_);
  if (error_) return *error_;
  return part;
}

SchemaReader::Part SchemaReader::schema(const Value& value, const std::string& path) {
  if (!work(1 + path.size() / 256)) return {};  // the cost of copying paths for the inner schemas
  if (value.is_bool()) {
    return value.get_bool() ? builder_.json().value : builder_.any_of(std::span<const Part>());
  }
  if (!value.is_object()) return fail(path, "is neither an object nor true or false", false);
  if (depth_ >= defaults::kMaxGrammarDepth) {
    error_ = Error{GrammarErrc::kTooComplex, path + ": schemas nest too deeply"};
    return {};
  }
  ++depth_;
  const std::size_t conditions = std::exchange(conditions_, 0);
  const Part part = open_schema(value.get_object(), path);
  conditions_ = conditions;
  --depth_;
  return part;
}

SchemaReader::Part SchemaReader::open_schema(const Object& object, const std::string& path) {
  if (!check_keywords(object, path)) return {};
  if (is_plain(object)) return plain_schema(object, path);
  if (!work(size_of(object))) return {};
  const Object plain = rewritten(object, path);
  return error_ ? Part{} : plain_schema(plain, path);
}

SchemaReader::Part SchemaReader::plain_schema(const Object& object, const std::string& path) {
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

/// Returns whether no value fits two of the alternatives, or whether the schema may ignore that.
bool SchemaReader::check_exclusive(const Array& schemas, const std::string& path) {
  if (!work(schemas.size() * schemas.size())) return false;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    for (std::size_t j = i + 1; j < schemas.size(); ++j) {
      if (exclude_each_other(schemas[i], schemas[j], 0)) continue;
      return lets_pass(path, "alternatives " + std::to_string(i) + " and " + std::to_string(j) +
                                 " may both hold, which is not supported");
    }
  }
  return !error_;
}

SchemaReader::Part SchemaReader::alternatives(const Object& object, std::string_view keyword,
                                              const std::string& path) {
  const std::string where = below(path, keyword);
  const Value& list = object.at(keyword);
  if (!list.is_array() || list.get_array().empty()) {
    return fail(where, "must be a list of schemas", false);
  }
  const auto& schemas = list.get_array();
  if (keyword == "oneOf" && !check_exclusive(schemas, where)) return {};
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

SchemaReader::Part SchemaReader::typed(const Object& object, const std::string& path) {
  std::vector<std::string> types = types_of(object);
  if (object.contains("type") && types.empty()) {
    return fail(below(path, "type"), "must be a string or a list of strings", false);
  }
  if (types.empty()) return builder_.json().value;
  std::vector<Part> parts;
  for (const std::string& type : types) {
    const bool is_known = std::ranges::find(kTypes, type) != kTypes.end();
    if (!is_known && is_lenient()) {
      lets_pass(below(path, "type"), {});
      return builder_.json().value;
    }
  }
  for (const std::string& type : types) parts.push_back(of_type(type, object, path));
  return builder_.any_of(parts);
}

SchemaReader::Part SchemaReader::of_type(std::string_view type, const Object& object,
                                         const std::string& path) {
  if (error_) return {};
  const Value* const except = object.if_contains(kExcept);
  const bool excludes = except != nullptr && type != "string" && type != "boolean" &&
                        std::ranges::any_of(except->get_array(), [&](const Value& value) {
                          return has_type(value, type);
                        });
  const bool is_counted = excludes && (type == "number" || type == "integer");
  if (excludes && type == "null") return builder_.any_of(std::span<const Part>());
  if (excludes && !is_counted && !lets_pass(below(path, "not"), {})) return {};
  if (type == "object") return object_part(object, path);
  if (type == "array") return array_part(object, path);
  if (type == "string") return string_part(object, path);
  if (type == "number") return number_part(object, false, path);
  if (type == "integer") return number_part(object, true, path);
  if (type == "boolean") {
    std::vector<Part> parts;
    for (const Value& value : {Value(true), Value(false)}) {
      if (except != nullptr && !*allows(kExcept, *except, value)) continue;
      parts.push_back(builder_.literal(scalar_text(builder_, value)));
    }
    return builder_.any_of(parts);
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
  if (!error) return std::min<std::uint64_t>(number, kNoBound);
  const bool is_beyond = value->is_double() && value->get_double() >= 0x1p63;
  if (!is_beyond) fail(below(path, keyword), "must be a whole number of 0 or more", false);
  return kNoBound;
}

}  // namespace weft::grammar

namespace weft {

Result<GrammarBuilder::Part> GrammarBuilder::read_schema(const boost::json::value& root,
                                                         std::string_view name,
                                                         Strictness strictness) {
  auto spacing = grammar::spacing_of(root, name);
  const bool is_wrong = !spacing && spacing.error().code == GrammarErrc::kBadSchema;
  if (is_wrong || (!spacing && strictness == Strictness::kStrict)) return spacing.error();
  if (!spacing) let_pass(grammar::below(std::string(name), grammar::kSpacingKeyword));
  grammar::JsonSpacing before = write_spacing(spacing ? *std::move(spacing) : spacing_);
  auto part = read_spaced_schema(root, name, strictness);
  write_spacing(std::move(before));
  return part;
}

Result<GrammarBuilder::Part> GrammarBuilder::read_spaced_schema(const boost::json::value& root,
                                                                std::string_view name,
                                                                Strictness strictness) {
  const std::size_t spent = spent_;
  grammar::SchemaReader reader(*this, root, name, strictness);
  auto part = reader.read();
  const bool is_too_large = !part && part.error().code == GrammarErrc::kTooComplex;
  if (!is_too_large || strictness == Strictness::kStrict || !reader.has_branched()) return part;
  // Conditions multiply the grammar's size, so the schema may be small enough without them.
  spent_ = spent;
  grammar::SchemaReader plain(*this, root, name, strictness);
  plain.leave_out_conditions();
  return plain.read();
}

Result<GrammarBuilder::Part> GrammarBuilder::json_schema(std::string_view schema,
                                                         std::string_view name,
                                                         Strictness strictness) {
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
  return read_schema(root, name, strictness);
}

Result<GrammarBuilder::Part> GrammarBuilder::parsed_json_schema(const boost::json::value& schema,
                                                                std::string_view name,
                                                                Strictness strictness) {
  boost::json::value root = schema;
  grammar::write_numbers_alike(root);
  return read_schema(root, name, strictness);
}

}  // namespace weft
