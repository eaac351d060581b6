#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "weft/grammar/schema/json_schema.h"

// Conditions are written as alternatives: "if a is present, so is b" becomes "a is absent, or both
// are present".

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

/// The most conditions of a schema, and the most values in its alternatives, because each condition
/// doubles them.
constexpr std::size_t kMostConditions = 5;
constexpr std::size_t kMostAlternatives = 4'000;
/// The largest depth of a schema whose opposite is needed.
constexpr int kDeepestOpposite = 4;

/// Returns an object without this property. Where the schema beside it lists no properties, its
/// other properties stay free.
Object without_property(std::string_view name, bool is_listing) {
  Object object{{"properties", Object{{name, false}}}};
  if (!is_listing) object["additionalProperties"] = true;
  return object;
}

bool lists_properties(const Object& schema) {
  const Value* const properties = schema.if_contains("properties");
  return properties != nullptr && properties->is_object() && !properties->get_object().empty();
}

/// Returns all types but the listed ones; nothing where `types` is not a list of types.
std::optional<Value> other_types(const Value& types) {
  const Array list = types.is_array() ? types.get_array() : Array{types};
  const auto has = [&](std::string_view type) {
    return std::ranges::find(list, Value(type)) != list.end();
  };
  if (has("integer") && !has("number")) return std::nullopt;  // fractions would be left
  Array others;
  constexpr std::array<std::string_view, 6> kTypes = {"object", "array",   "string",
                                                      "number", "boolean", "null"};
  for (const std::string_view type : kTypes) {
    if (!has(type)) others.emplace_back(type);
  }
  if (others.empty()) return false;
  return Object{{"type", std::move(others)}};
}

/// A keyword that bounds values, and the opposite keyword, for values beyond the bound.
struct Beyond {
  std::string_view keyword;
  std::string_view opposite;
  int step = 0;  ///< distance from a count to the next count beyond the bound
};
constexpr std::array<Beyond, 10> kBeyond = {{{"minimum", "exclusiveMaximum"},
                                             {"exclusiveMinimum", "maximum"},
                                             {"maximum", "exclusiveMinimum"},
                                             {"exclusiveMaximum", "minimum"},
                                             {"minLength", "maxLength", -1},
                                             {"maxLength", "minLength", 1},
                                             {"minItems", "maxItems", -1},
                                             {"maxItems", "minItems", 1},
                                             {"minProperties", "maxProperties", -1},
                                             {"maxProperties", "minProperties", 1}}};

/// Returns the values that a keyword excludes, among values of its type; nothing for other
/// keywords.
std::optional<Value> beyond(std::string_view keyword, const Value& argument) {
  const auto found = std::ranges::find(kBeyond, keyword, &Beyond::keyword);
  if (found == kBeyond.end() || !argument.is_number()) return std::nullopt;
  if (found->step == 0) return Object{{found->opposite, argument}};
  boost::system::error_code error;
  const auto count = argument.to_number<std::int64_t>(error);
  if (error || count < 0 || count >= kNoBound) return std::nullopt;
  if (count + found->step < 0) return false;
  return Object{{found->opposite, count + found->step}};
}

}  // namespace

bool SchemaReader::may_branch(const Object& object) {
  if (!takes_conditions_ || ++conditions_ > kMostConditions) return false;
  has_branched_ = true;
  return size_of(object) << conditions_ <= kMostAlternatives;
}

void SchemaReader::restate_dependencies(std::string_view keyword, const Object& object,
                                        Array& conditions, const std::string& path) {
  const std::string where = below(path, keyword);
  const Value& all = object.at(keyword);
  if (!all.is_object()) {
    fail(where, "must be an object", false);
    return;
  }
  const bool is_listing = lists_properties(object);
  for (const auto& member : all.get_object()) {
    if (member.value().is_array() && member.value().get_array().empty()) continue;
    if (!may_branch(object) || !work(size_of(object))) {
      lets_pass(where, "has too many conditions");
      return;
    }
    Array needed{Value(member.key())};
    Value then = true;
    if (const Array* const names = member.value().if_array()) {
      needed.insert(needed.end(), names->begin(), names->end());
    } else {
      then = member.value();
    }
    const Value present = both(Object{{"required", std::move(needed)}}, then);
    conditions.push_back(
        Object{{"anyOf", Array{without_property(member.key(), is_listing), present}}});
  }
}

void SchemaReader::restate_if(const Object& object, Array& conditions, const std::string& path) {
  const Value* const then = object.if_contains("then");
  const Value* const otherwise = object.if_contains("else");
  if (then == nullptr && otherwise == nullptr) return;  // the condition has no effect
  const Value& condition = object.at("if");
  const auto not_so = opposite(condition, 0);
  if (!not_so || !may_branch(object) || !work(2 * size_of(object))) {
    lets_pass(below(path, "if"), "is not supported for this schema");
    return;
  }
  const Value yes = both(condition, then == nullptr ? Value(true) : *then);
  const Value no = both(*not_so, otherwise == nullptr ? Value(true) : *otherwise);
  conditions.push_back(Object{{"anyOf", Array{yes, no}}});
}

std::optional<SchemaReader::Value> SchemaReader::opposite(const Value& schema, int depth) {
  const Value& found = target(schema, 0);
  if (found.is_bool()) return !found.get_bool();
  if (!found.is_object() || depth > kDeepestOpposite || !work(1 + size_of(found) / 4)) {
    return std::nullopt;
  }
  Array ways;
  for (const auto& member : found.get_object()) {
    if (is_annotation(member.key())) continue;
    if (!add_opposites(member.key(), member.value(), ways, depth)) return std::nullopt;
  }
  if (ways.empty()) return false;
  if (ways.size() == 1) return ways[0];
  return Object{{"anyOf", std::move(ways)}};
}

/// Adds the alternatives that break one keyword; returns false where they are unknown.
bool SchemaReader::add_opposites(std::string_view keyword, const Value& argument, Array& ways,
                                 int depth) {
  const auto add = [&](std::optional<Value> way) {
    if (!way) return false;
    if (*way != Value(false)) ways.push_back(*std::move(way));
    return true;
  };
  if (keyword == "type") return add(other_types(argument));
  if (keyword == "const") return add(Object{{kExcept, Array{argument}}});
  if (keyword == "enum" && argument.is_array()) return add(Object{{kExcept, argument}});
  if (keyword == "not") return add(argument);
  if (keyword == "required" && argument.is_array()) {
    return std::ranges::all_of(argument.get_array(), [&](const Value& name) {
      return name.is_string() && add(without_property(std::string_view(name.get_string()), true));
    });
  }
  if (keyword == "properties" && argument.is_object()) {
    return std::ranges::all_of(argument.get_object(), [&](const auto& property) {
      auto way = opposite(property.value(), depth + 1);
      if (!way || *way == Value(false)) return add(std::move(way));
      return add(Object{{"properties", Object{{property.key(), *std::move(way)}}},
                        {"required", Array{Value(property.key())}}});
    });
  }
  if (keyword == "allOf" && argument.is_array()) {
    return std::ranges::all_of(argument.get_array(),
                               [&](const Value& one) { return add(opposite(one, depth + 1)); });
  }
  if (keyword == "anyOf" && argument.is_array()) {
    Array none;
    for (const Value& one : argument.get_array()) {
      auto way = opposite(one, depth + 1);
      if (!way) return false;
      none.push_back(*std::move(way));
    }
    return add(Object{{"allOf", std::move(none)}});
  }
  return add(beyond(keyword, argument));
}

}  // namespace weft::grammar
