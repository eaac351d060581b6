#include <algorithm>
#include <string>
#include <vector>

#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

/// Returns the values that a schema lists; empty where it lists none.
Array given_values(const Object& schema) {
  if (const Value* value = schema.if_contains("const")) return {*value};
  const Value* const list = schema.if_contains("enum");
  return list != nullptr && list->is_array() ? list->get_array() : Array();
}

/// Returns the types that a schema states; a whole number is a number.
std::vector<std::string> stated_types(const Object& schema) {
  std::vector<std::string> types;
  const auto add = [&](const Value& type) {
    if (!type.is_string()) return;
    types.emplace_back(type == "integer" ? "number" : std::string(type.get_string()));
  };
  const Value* const type = schema.if_contains("type");
  if (type == nullptr) return types;
  if (const Array* list = type->if_array()) {
    std::ranges::for_each(*list, add);
  } else {
    add(*type);
  }
  return types;
}

template <class Values>
bool share_one(const Values& ours, const Values& theirs) {
  return std::ranges::any_of(
      ours, [&](const auto& one) { return std::ranges::find(theirs, one) != theirs.end(); });
}

const Object* properties_of(const Object& schema) {
  const Value* const properties = schema.if_contains("properties");
  return properties == nullptr ? nullptr : properties->if_object();
}

bool requires_property(const Object& schema, std::string_view name) {
  const Value* const list = schema.if_contains("required");
  return list != nullptr && list->is_array() &&
         std::ranges::find(list->get_array(), Value(name)) != list->get_array().end();
}

/// Whether only the properties in `properties` are allowed.
bool is_closed(const Object& schema) {
  const Value* const additional = schema.if_contains("additionalProperties");
  return additional != nullptr && *additional == Value(false) &&
         !schema.contains("patternProperties");
}

}  // namespace

const SchemaReader::Value& SchemaReader::target(const Value& value, int depth) {
  const Value* const found = &value;  // belongs to the schema that is read, so it outlives the call
  const auto* object = value.if_object();
  const Value* const ref = object == nullptr ? nullptr : object->if_contains("$ref");
  if (ref == nullptr || !ref->is_string() || depth > 8 || error_) return *found;
  const Value* const where = resolve({ref->get_string().data(), ref->get_string().size()}, name_);
  return where == nullptr ? *found : target(*where, depth + 1);
}

/// Whether two schemas evidently have no common value: because of their types, their listed values,
/// or a property that both require and that distinguishes them.
bool SchemaReader::exclude_each_other(const Value& a, const Value& b, int depth) {
  constexpr int kDeepest = 4;
  const Value& ours = target(a, 0);
  const Value& theirs = target(b, 0);
  if (ours == Value(false) || theirs == Value(false)) return true;
  if (!ours.is_object() || !theirs.is_object() || depth > kDeepest || !work(1)) return false;
  const Object& one = ours.get_object();
  const Object& other = theirs.get_object();
  const Array our_values = given_values(one);
  const Array their_values = given_values(other);
  if (!our_values.empty() && !their_values.empty()) {
    return work(our_values.size() * their_values.size()) && !share_one(our_values, their_values);
  }
  const auto our_types = stated_types(one);
  const auto their_types = stated_types(other);
  const bool both_state = !our_types.empty() && !their_types.empty();
  if (both_state && !share_one(our_types, their_types)) return true;
  const std::vector<std::string> object_alone = {"object"};
  if (our_types != object_alone || their_types != object_alone) return false;
  return told_apart(one, other, depth) || told_apart(other, one, depth);
}

/// Whether a property that `one` requires makes its objects different from all objects of `other`.
bool SchemaReader::told_apart(const Object& one, const Object& other, int depth) {
  const Object* const properties = properties_of(one);
  const Object* const others = properties_of(other);
  if (properties == nullptr || others == nullptr) return false;
  return std::ranges::any_of(*properties, [&](const auto& member) {
    const Value* const required = one.if_contains("required");
    const std::size_t names =
        required != nullptr && required->is_array() ? required->get_array().size() : 0;
    if (!work(1 + names / 16) || !requires_property(one, member.key())) return false;
    const Value* const same = others->if_contains(member.key());
    if (same == nullptr) return is_closed(other);
    return requires_property(other, member.key()) &&
           exclude_each_other(member.value(), *same, depth + 1);
  });
}

}  // namespace weft::grammar
