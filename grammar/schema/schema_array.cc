#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

/// A schema's keywords for an array's items: those of the first items, one by one, and of the rest.
struct Items {
  Array first;
  std::optional<Value> rest;

  [[nodiscard]] Value at(std::size_t index) const {
    return index < first.size() ? first[index] : rest.value_or(true);
  }
};

/// Takes the keywords for items out of a schema. `additionalItems` has a meaning only beside a
/// list.
Items take_items(Object& object) {
  Items items;
  const auto take = [&](std::string_view keyword) -> std::optional<Value> {
    const Value* const value = object.if_contains(keyword);
    std::optional<Value> taken;
    if (value != nullptr) taken = *value;
    object.erase(keyword);
    return taken;
  };
  const auto prefix = take("prefixItems");
  const auto list = take("items");
  const auto additional = take("additionalItems");
  if (prefix && prefix->is_array()) {
    items.first = prefix->get_array();
    items.rest = list;
  } else if (list && list->is_array()) {
    items.first = list->get_array();
    items.rest = additional;
  } else {
    items.rest = list;
  }
  return items;
}

}  // namespace

/// Merges the items of both schemas. Each schema covers all items, so one of the first items of one
/// schema may be in the rest of the other.
void SchemaReader::merge_items(Object& into, Object& other, const std::string& path) {
  for (const Object* one : {&into, &other}) {
    const Value* const prefix = one->if_contains("prefixItems");
    if (prefix == nullptr || prefix->is_array()) continue;
    fail(below(path, "prefixItems"), "must be a list of schemas", false);
    return;
  }
  const Items ours = take_items(into);
  const Items theirs = take_items(other);
  const std::size_t firsts = std::max(ours.first.size(), theirs.first.size());
  const std::size_t copied =
      size_of(ours.rest.value_or(true)) + size_of(theirs.rest.value_or(true));
  if (!work(firsts * copied)) return;
  Array first;
  for (std::size_t i = 0; i < firsts; ++i) first.push_back(both(ours.at(i), theirs.at(i)));
  if (!first.empty()) into[has_prefix_items_ ? "prefixItems" : "items"] = std::move(first);
  if (!ours.rest && !theirs.rest) return;
  into[firsts > 0 && !has_prefix_items_ ? "additionalItems" : "items"] =
      both(ours.rest.value_or(true), theirs.rest.value_or(true));
}

SchemaReader::Part SchemaReader::array_part(const Object& object, const std::string& path) {
  const JsonParts& json = builder_.json();
  const Value* prefix = object.if_contains("prefixItems");
  const Value* items = object.if_contains("items");
  const std::string first_path = below(path, prefix != nullptr ? "prefixItems" : "items");
  std::string rest_path = below(path, "items");
  // draft 7's form
  if (prefix == nullptr && items != nullptr && items->is_array()) {
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
  if (const Value* const unique = object.if_contains("uniqueItems");
      unique != nullptr && *unique == Value(true) && most > 1) {
    const auto part =
        prefix == nullptr ? unique_array(items, {least, most}, below(path, "items")) : std::nullopt;
    if (part || error_) return part.value_or(Part{});
    if (!lets_pass(below(path, "uniqueItems"), "is supported where the values can be listed")) {
      return {};
    }
  }
  const std::size_t firsts = prefix == nullptr ? 0 : prefix->get_array().size();
  const bool may_go_on = items != nullptr    ? *items != Value(false)
                         : prefix != nullptr ? least > firsts
                                             : true;
  const bool has_rest = most > firsts && may_go_on;
  if (least > most || least >= kNoBound || (least > firsts && !has_rest)) {
    return builder_.any_of(std::span<const Part>());
  }
  // Goes from the last item back. It keeps the text that may follow an item, and the text that may
  // come first.
  Part rest = json.space;
  Part first;
  if (has_rest) {
    const Part item = items == nullptr ? json.value : schema(*items, rest_path);
    const auto at_least =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(least, firsts) - firsts);
    const auto at_most = most >= kNoBound ? kNoBound : static_cast<std::uint32_t>(most - firsts);
    const Part one_more = builder_.sequence({json.comma, item});
    rest = builder_.sequence({builder_.repeat(one_more, at_least, at_most), json.space});
    const Part all =
        builder_.sequence({item,
                           builder_.repeat(one_more, at_least > 0 ? at_least - 1 : 0,
                                           at_most == kNoBound ? kNoBound : at_most - 1),
                           json.space});
    first = at_least > 0 ? all : builder_.optional(all);
  }
  for (std::size_t i = std::min<std::size_t>(firsts, most); i > 0 && !error_; --i) {
    const Part item =
        schema(prefix->get_array()[i - 1], first_path + "[" + std::to_string(i - 1) + "]");
    const Part with = builder_.sequence({json.comma, item, rest});
    const Part begun = builder_.sequence({item, rest});
    rest = i <= least ? with : builder_.any_of({with, json.space});
    first = i <= least ? begun : builder_.optional(begun);
  }
  return builder_.sequence({builder_.literal("["), json.space, first, builder_.literal("]")});
}

}  // namespace weft::grammar
