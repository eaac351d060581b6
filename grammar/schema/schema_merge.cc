#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

Array list_of(const Value& value) { return value.is_array() ? value.get_array() : Array{value}; }

bool has(const Array& list, const Value& value) {
  return std::ranges::find(list, value) != list.end();
}

/// Returns the types that both schemas allow; a whole number is a number.
Array common_types(const Value& a, const Value& b) {
  const Array ours = list_of(a);
  const Array theirs = list_of(b);
  Array types;
  for (const Value& type : ours) {
    const bool is_whole = type == "integer" && has(theirs, "number");
    if (is_whole || has(theirs, type)) {
      types.push_back(type);
    } else if (type == "number" && has(theirs, "integer")) {
      types.push_back("integer");
    }
  }
  return types;
}

bool is_number(const Value& value) { return value.is_number(); }

double number_of(const Value& value) { return value.is_number() ? value.to_number<double>() : 0; }

/// Whether additionalProperties of one schema applies to names that patternProperties of the other
/// matches.
bool speaks_of_patterns(const Object& one, const Object& other) {
  const Value* const additional = one.if_contains("additionalProperties");
  const Value* const patterns = other.if_contains("patternProperties");
  if (additional == nullptr || *additional == Value(true)) return false;
  if (patterns == nullptr || *patterns == Value(Object())) return false;
  const Value* const own = one.if_contains("patternProperties");
  return own == nullptr || *own != *patterns;
}

/// Allows properties of an object with any name that the object does not list.
void open_names(Object& object) {
  object.erase("patternProperties");
  object["additionalProperties"] = true;
}

/// Returns the number whose multiples are the common multiples of both; nothing where one is not
/// small and whole.
std::optional<Value> common_multiple(const Value& a, const Value& b) {
  constexpr std::int64_t kLargest = 1'000'000;
  if (!a.is_int64() || !b.is_int64()) return std::nullopt;
  const std::int64_t one = a.get_int64();
  const std::int64_t other = b.get_int64();
  if (one < 1 || other < 1 || one > kLargest || other > kLargest) return std::nullopt;
  return std::lcm(one, other);
}

}  // namespace

std::size_t size_of(const Value& value) {
  std::size_t size = 1;
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) size += size_of(member.value());
  } else if (const Array* array = value.if_array()) {
    for (const Value& item : *array) size += size_of(item);
  }
  return size;
}

void write_numbers_alike(Value& value) {
  if (Array* array = value.if_array()) {
    std::ranges::for_each(*array, write_numbers_alike);
  } else if (Object* object = value.if_object()) {
    for (auto& member : *object) write_numbers_alike(member.value());
  } else if (const double* number = value.if_double()) {
    if (*number != std::floor(*number)) return;
    if (std::abs(*number) < 0x1p63) {
      value = static_cast<std::int64_t>(*number);
    } else if (*number > 0 && *number < 0x1p64) {
      value = static_cast<std::uint64_t>(*number);
    }
  }
}

Value SchemaReader::both(const Value& a, const Value& b) {
  if (a == b || b == Value(true)) return a;
  if (a == Value(true)) return b;
  if (a == Value(false) || b == Value(false)) return false;
  return Object{{"allOf", Array{a, b}}};
}

/// Returns the schema with its reference replaced by the target.
SchemaReader::Object SchemaReader::followed(const Object& object, const std::string& path) {
  Object result = object;
  for (int i = 0; result.contains("$ref"); ++i) {
    const Value ref = result.at("$ref");
    if (i == 16 || !ref.is_string()) {
      fail(below(path, "$ref"), "leads nowhere", false);
      return {};
    }
    const Value* const where = resolve({ref.get_string().data(), ref.get_string().size()}, path);
    if (where == nullptr) return {};
    result.erase("$ref");
    if (++reference_depth_ > 16) {
      fail(path, "references nest too deeply");
      return {};
    }
    const Value whole = result.empty() ? *where : merged(*where, result, path);
    --reference_depth_;
    if (error_ || !whole.is_object()) {
      if (!error_ && whole == Value(false)) return {{"enum", Array{}}};
      return {};
    }
    result = whole.get_object();
  }
  return result;
}

/// Applies the additionalProperties of `other` to properties that `other` does not list.
void SchemaReader::close_properties(Object& object, const Object& other) {
  const Value* const additional = other.if_contains("additionalProperties");
  Value* const properties = object.if_contains("properties");
  if (additional == nullptr || properties == nullptr || !properties->is_object()) return;
  const Value* const listed = other.if_contains("properties");
  const std::size_t copied = size_of(*additional);
  for (auto& member : properties->get_object()) {
    const bool is_listed =
        listed != nullptr && listed->is_object() && listed->get_object().contains(member.key());
    if (is_listed) continue;
    if (!work(copied)) return;
    member.value() = both(member.value(), *additional);
  }
}

Value SchemaReader::merged(const Value& a, const Value& b, const std::string& path) {
  if (!work(size_of(a) + size_of(b))) return nullptr;
  if (a == Value(true)) return b;
  if (b == Value(true)) return a;
  if (a == Value(false) || b == Value(false)) return false;
  if (!a.is_object() || !b.is_object()) {
    fail(path, "is neither an object nor true or false", false);
    return nullptr;
  }
  Object ours = followed(a.get_object(), path);
  Object theirs = followed(b.get_object(), path);
  if (error_) return nullptr;
  for (Object* one : {&ours, &theirs}) {
    if (!check_keywords(*one, path)) return nullptr;
    if (!is_plain(*one)) *one = rewritten(*one, path);
    if (error_) return nullptr;
  }
  if (speaks_of_patterns(ours, theirs) || speaks_of_patterns(theirs, ours)) {
    if (!lets_pass(below(path, "patternProperties"),
                   "is not supported beside additionalProperties of another schema")) {
      return nullptr;
    }
    open_names(ours);
    open_names(theirs);
  }
  merge_items(ours, theirs, path);
  ours.erase("$id");  // the id belonged to one of the parts
  const Object before = ours;
  close_properties(ours, theirs);
  close_properties(theirs, before);
  for (const auto& member : theirs) {
    if (!is_annotation(member.key())) merge_keyword(ours, member.key(), member.value(), path);
    if (error_) return nullptr;
  }
  return ours;
}

void SchemaReader::merge_keyword(Object& into, std::string_view keyword, const Value& value,
                                 const std::string& path) {
  Value* const old = into.if_contains(keyword);
  const std::string where = below(path, keyword);
  if (old == nullptr) {
    into.emplace(keyword, value);
  } else if (*old == value) {
    return;
  } else if (keyword == "type") {
    if (!work(list_of(*old).size() * list_of(value).size())) return;
    *old = common_types(*old, value);
    if (old->get_array().empty()) into = {{"enum", Array{}}};
  } else if (keyword == "properties" && old->is_object() && value.is_object()) {
    for (const auto& member : value.get_object()) {
      auto& properties = old->get_object();
      Value* const same = properties.if_contains(member.key());
      if (same == nullptr) {
        properties.emplace(member.key(), member.value());
      } else {
        *same = both(*same, member.value());
      }
    }
  } else if (keyword == "required" && old->is_array() && value.is_array()) {
    if (!work(old->get_array().size() * value.get_array().size() / 16)) return;
    for (const Value& name : value.get_array()) {
      if (!has(old->get_array(), name)) old->get_array().push_back(name);
    }
  } else if (is_one_of(keyword, {"additionalProperties", "propertyNames"})) {
    *old = both(*old, value);
  } else if (keyword == "allOf" && old->is_array() && value.is_array()) {
    for (const Value& one : value.get_array()) old->get_array().push_back(one);
  } else if (is_one_of(keyword,
                       {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}) &&
             is_number(*old) && is_number(value)) {
    if (number_of(value) > number_of(*old)) *old = value;
  } else if (is_one_of(keyword,
                       {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}) &&
             is_number(*old) && is_number(value)) {
    if (number_of(value) < number_of(*old)) *old = value;
  } else if (keyword == "enum" && old->is_array() && value.is_array()) {
    if (!work(old->get_array().size() * value.get_array().size())) return;
    Array common;
    for (const Value& one : old->get_array()) {
      if (has(value.get_array(), one)) common.push_back(one);
    }
    *old = common;
  } else if (keyword == "const") {
    into = {{"enum", Array{}}};
  } else if (is_one_of(keyword, {"anyOf", "oneOf"}) && old->is_array() && value.is_array()) {
    // A choice from one list and a choice from the other make one of their pairs.
    if (!work(16 * old->get_array().size() * value.get_array().size())) return;
    Array pairs;
    for (const Value& one : old->get_array()) {
      for (const Value& other : value.get_array()) pairs.push_back(both(one, other));
    }
    *old = pairs;
  } else if (keyword == "uniqueItems") {
    *old = *old == Value(true) || value == Value(true);
  } else if (keyword == kExcept && old->is_array() && value.is_array()) {
    for (const Value& one : value.get_array()) old->get_array().push_back(one);
  } else if (const auto common = common_multiple(*old, value); keyword == "multipleOf" && common) {
    *old = *common;
  } else {
    lets_pass(where, "is stated twice, which is not supported");
  }
}

}  // namespace weft::grammar
