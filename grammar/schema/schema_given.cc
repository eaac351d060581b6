#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"

// Values that a schema lists by `enum` and `const`.

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

/// Returns whether a value's numbers are exactly as written; digits beyond 64 bits are lost.
bool is_exact(const Value& value) {
  if (const Array* array = value.if_array()) return std::ranges::all_of(*array, is_exact);
  if (const Object* object = value.if_object()) {
    return std::ranges::all_of(*object,
                               [](const auto& member) { return is_exact(member.value()); });
  }
  return !value.is_double() || std::abs(value.get_double()) < 0x1p63;
}

/// Returns the count that a keyword bounds: characters, elements, properties, or the number itself.
double counted(const Value& value) {
  if (const auto* const text = value.if_string()) {
    return static_cast<double>(count_code_points({text->data(), text->size()}));
  }
  if (const Array* const array = value.if_array()) return static_cast<double>(array->size());
  if (const Object* const object = value.if_object()) return static_cast<double>(object->size());
  return value.to_number<double>();
}

bool has_all(const Object& object, const Array& names) {
  return std::ranges::all_of(names, [&](const Value& name) {
    return name.is_string() && object.contains(name.get_string());
  });
}

bool has_no_equal_items(const Array& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (std::find(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(i), items[i]) !=
        items.begin() + static_cast<std::ptrdiff_t>(i)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<bool> allows(std::string_view keyword, const Value& argument, const Value& value) {
  if (keyword == kExcept) {
    return std::ranges::find(argument.get_array(), value) == argument.get_array().end();
  }
  const std::string_view type = type_of_keyword(keyword);
  if (!type.empty() && !has_type(value, type)) return true;
  if (keyword == "required" && argument.is_array()) {
    return has_all(value.get_object(), argument.get_array());
  }
  if (keyword == "uniqueItems") {
    return argument != Value(true) || has_no_equal_items(value.get_array());
  }
  if (type.empty() || !argument.is_number()) return std::nullopt;
  const double bound = argument.to_number<double>();
  const double number = counted(value);
  if (keyword == "exclusiveMinimum") return number > bound;
  if (keyword == "exclusiveMaximum") return number < bound;
  if (keyword.starts_with("min")) return number >= bound;
  if (keyword.starts_with("max")) return number <= bound;
  const bool is_whole = std::max(std::abs(number), bound) < 0x1p53 && bound >= 1 &&
                        bound == std::floor(bound) && number == std::floor(number);
  if (keyword == "multipleOf" && is_whole) return std::fmod(number, bound) == 0;
  return std::nullopt;
}

/// Removes listed values that the schema's other keywords do not allow. Returns false after a
/// mistake.
bool SchemaReader::keep_allowed(const Object& object, std::vector<Value>& values,
                                const std::string& path) {
  for (const auto& member : object) {
    const std::string_view keyword = member.key();
    if (keyword == "const" || keyword == "enum" || keyword == "type" || is_annotation(keyword)) {
      continue;
    }
    if (!is_lenient()) {
      fail(below(path, keyword), "is not supported beside enum or const");
      return false;
    }
    if (!work(values.size() + size_of(member.value()))) return false;
    bool is_known = true;
    std::vector<Value> kept;
    for (Value& value : values) {
      const auto allowed = allows(keyword, member.value(), value);
      if (!allowed) is_known = false;
      if (allowed.value_or(true)) kept.push_back(std::move(value));
    }
    values = std::move(kept);
    if (!is_known) lets_pass(below(path, keyword), "is not supported beside enum or const");
  }
  return true;
}

SchemaReader::Part SchemaReader::given(const Object& object, const std::string& path) {
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
  if (!keep_allowed(object, values, path)) return {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!work(size_of(values[i]))) return {};
    if (is_exact(values[i])) continue;
    const std::string place = list != nullptr ? "enum[" + std::to_string(i) + "]" : "const";
    if (!lets_pass(below(path, place), "has a number beyond 64 bits, which is not supported")) {
      return {};
    }
    return builder_.json().value;  // the lost digits are unknown
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

}  // namespace weft::grammar
