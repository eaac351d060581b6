#include <algorithm>
#include <string>
#include <vector>

#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;

bool is_type(const Value& value, std::string_view type) {
  const auto* object = value.if_object();
  const Value* const types = object == nullptr ? nullptr : object->if_contains("type");
  return types != nullptr && types->is_string() && types->get_string() == type;
}

}  // namespace

SchemaReader::Part SchemaReader::array_part(const Object& object, const std::string& path) {
  const JsonParts& json = builder_.json();
  const Value* prefix = object.if_contains("prefixItems");
  const Value* items = object.if_contains("items");
  const std::string first_path = below(path, prefix != nullptr ? "prefixItems" : "items");
  std::string rest_path = below(path, "items");
  if (prefix == nullptr && items != nullptr && items->is_array()) {  // as draft 7 writes it
    prefix = items;
    items = object.if_contains("additionalItems");
    rest_path = below(path, "additionalItems");
  }
  if (prefix != nullptr && !prefix->is_array()) {
    return fail(below(path, "prefixItems"), "must be a list of schemas", false);
  }
  const auto least = count(object, "minItems", path).value_or(0);
  const auto most = count(object, "maxItems", path).value_or(kNoBound);
  if (error_) return {};
  const std::size_t firsts = prefix == nullptr ? 0 : prefix->get_array().size();
  const bool has_rest =
      most > firsts && (items == nullptr ? prefix == nullptr : *items != Value(false));
  if (least > most || (least > firsts && !has_rest)) {
    return builder_.any_of(std::span<const Part>());
  }
  const Part comma = builder_.sequence({builder_.literal(","), json.space});
  // From the last one on: what may follow an item, and what may stand first.
  Part rest = json.space;
  Part first;
  if (has_rest) {
    const Part item = items == nullptr ? json.value : schema(*items, rest_path);
    const auto at_least = static_cast<std::uint32_t>(std::max<std::uint64_t>(least, firsts) - firsts);
    const auto at_most =
        most >= kNoBound ? kNoBound : static_cast<std::uint32_t>(most - firsts);
    const Part one_more = builder_.sequence({comma, item});
    rest = builder_.sequence({builder_.repeat(one_more, at_least, at_most), json.space});
    const Part all = builder_.sequence(
        {item,
         builder_.repeat(one_more, at_least > 0 ? at_least - 1 : 0,
                         at_most == kNoBound ? kNoBound : at_most - 1),
         json.space});
    first = at_least > 0 ? all : builder_.optional(all);
  }
  for (std::size_t i = std::min<std::size_t>(firsts, most); i > 0 && !error_; --i) {
    const Part item =
        schema(prefix->get_array()[i - 1], first_path + "[" + std::to_string(i - 1) + "]");
    const Part with = builder_.sequence({comma, item, rest});
    const Part begun = builder_.sequence({item, rest});
    rest = i <= least ? with : builder_.any_of({with, json.space});
    first = i <= least ? begun : builder_.optional(begun);
  }
  return builder_.sequence({builder_.literal("["), json.space, first, builder_.literal("]")});
}

const SchemaReader::Value& SchemaReader::target(const Value& value, int depth) {
  const auto* object = value.if_object();
  const Value* const ref = object == nullptr ? nullptr : object->if_contains("$ref");
  if (ref == nullptr || !ref->is_string() || depth > 8 || error_) return value;
  const Value* const where = resolve({ref->get_string().data(), ref->get_string().size()}, name_);
  return where == nullptr ? value : target(*where, depth + 1);
}

/// Whether two schemas never hold for the same value, as far as that is easy to see: by their
/// types, by what is given, or by a property that both require and that tells them apart.
bool SchemaReader::exclude_each_other(const Value& a, const Value& b, int depth) {
  const Value& ours = target(a, 0);
  const Value& theirs = target(b, 0);
  if (ours == Value(false) || theirs == Value(false)) return true;
  if (!ours.is_object() || !theirs.is_object() || depth > 4 || !work(1)) return false;
  const auto kinds = [](const Object& schema) {
    std::vector<std::string> types;
    const auto add = [&](const Value& type) {
      if (type.is_string()) types.emplace_back(type.get_string());
    };
    if (const Value* type = schema.if_contains("type")) {
      if (const auto* list = type->if_array()) {
        for (const Value& one : *list) add(one);
      } else {
        add(*type);
      }
    }
    return types;
  };
  const Object& one = ours.get_object();
  const Object& other = theirs.get_object();
  const auto given = [](const Object& schema) {
    boost::json::array values;
    if (const Value* value = schema.if_contains("const")) {
      values.push_back(*value);
    } else if (const Value* list = schema.if_contains("enum")) {
      if (list->is_array()) values = list->get_array();
    }
    return values;
  };
  const auto our_values = given(one);
  const auto their_values = given(other);
  if (!our_values.empty() && !their_values.empty()) {
    if (!work(our_values.size() * their_values.size())) return false;
    return std::ranges::none_of(our_values, [&](const Value& value) {
      return std::ranges::find(their_values, value) != their_values.end();
    });
  }
  const auto our_types = kinds(one);
  const auto their_types = kinds(other);
  const auto same = [](const std::string& x, const std::string& y) {
    return x == y || (x == "integer" && y == "number") || (x == "number" && y == "integer");
  };
  const bool may_share =
      our_types.empty() || their_types.empty() ||
      std::ranges::any_of(our_types, [&](const auto& x) {
        return std::ranges::any_of(their_types, [&](const auto& y) { return same(x, y); });
      });
  if (!may_share) return true;
  if (!is_type(ours, "object") || !is_type(theirs, "object")) return false;
  const Value* const our_properties = one.if_contains("properties");
  const Value* const their_properties = other.if_contains("properties");
  if (our_properties == nullptr || their_properties == nullptr || !our_properties->is_object() ||
      !their_properties->is_object()) {
    return false;
  }
  const auto requires_it = [](const Object& schema, std::string_view name) {
    const Value* const list = schema.if_contains("required");
    return list != nullptr && list->is_array() &&
           std::ranges::find(list->get_array(), Value(name)) != list->get_array().end();
  };
  const auto closed = [](const Object& schema) {
    const Value* const additional = schema.if_contains("additionalProperties");
    return additional != nullptr && *additional == Value(false);
  };
  const auto tells_apart = [&](const Object& mine, const Object& properties, const Object& yours,
                               const Object& others) {
    return std::ranges::any_of(properties, [&](const auto& member) {
      if (!requires_it(mine, member.key())) return false;
      const Value* const same_one = others.if_contains(member.key());
      if (same_one == nullptr) return closed(yours);
      return requires_it(yours, member.key()) &&
             exclude_each_other(member.value(), *same_one, depth + 1);
    });
  };
  return tells_apart(one, our_properties->get_object(), other, their_properties->get_object()) ||
         tells_apart(other, their_properties->get_object(), one, our_properties->get_object());
}

}  // namespace weft::grammar
