#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/grammar/forms/regex.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;
using Object = boost::json::object;

const Object* object_at(const Object& object, std::string_view keyword) {
  const Value* const value = object.if_contains(keyword);
  return value == nullptr ? nullptr : value->if_object();
}

}  // namespace

SchemaReader::Part SchemaReader::member(Part name, Part value) {
  return builder_.sequence({name, builder_.json().colon, value});
}

/// Returns a member whose name matches the one pattern of patternProperties; the object has no
/// properties.
SchemaReader::Part SchemaReader::pattern_member(const Object& object, const std::string& path) {
  const auto& one = *object.at("patternProperties").get_object().begin();
  const std::string where = below(below(path, "patternProperties"), one.key());
  const Part value = schema(one.value(), where);
  const auto name = read_regex(builder_, one.key(), {.in_json = true, .searches = true});
  if (!name) {
    // The names that the pattern matches are unknown, so any name may have any value.
    const bool passes = lets_pass(where, name.error().detail);
    return passes ? member(builder_.json().string, builder_.json().value) : Part{};
  }
  const Part quote = builder_.literal("\"");
  return member(builder_.sequence({quote, *name, quote}), value);
}

/// Returns a member that is not in `properties`. `exists` becomes false where no such member is
/// allowed.
SchemaReader::Part SchemaReader::other_member(const Object& object, const std::string& path,
                                              bool& exists) {
  const Value* additional = object.if_contains("additionalProperties");
  const Object* const properties = object_at(object, "properties");
  const Object* const patterns = object_at(object, "patternProperties");
  const Value* names = object.if_contains("propertyNames");
  const bool lists = properties != nullptr && !properties->empty();
  const JsonParts& json = builder_.json();
  const bool is_tagged = builder_.value_form() == ValueForm::kTagged;
  if (patterns != nullptr && !patterns->empty()) {
    const std::string where = below(path, "patternProperties");
    const bool is_open = additional != nullptr && *additional != Value(false);
    const bool is_alone = !lists && names == nullptr && !is_open && patterns->size() == 1;
    if (is_alone && !is_tagged) return pattern_member(object, path);
    if (!lets_pass(where, is_tagged ? kNotBetweenTags
                                    : "is supported for one pattern, without other properties")) {
      return {};
    }
    static const Value any = true;
    additional = &any;  // names are not matched with the patterns
  }
  if (names != nullptr && lists) {
    if (!lets_pass(below(path, "propertyNames"), "is not supported beside properties")) return {};
    names = nullptr;
  }
  const bool is_closed =
      additional == nullptr ? lists && !needs_others(object, path) : *additional == Value(false);
  if (is_closed) {
    exists = false;
    return {};
  }
  const std::string where = below(path, "additionalProperties");
  const Part value = additional == nullptr ? json.value : schema(*additional, where);
  if (names != nullptr) {
    const Value typed = names->is_object() ? merged(*names, Object{{"type", "string"}},
                                                    below(path, "propertyNames"))
                                           : *names;
    if (typed == Value(false)) {
      exists = false;
      return {};
    }
    const Part name =
        typed == Value(true) ? json.string : schema(typed, below(path, "propertyNames"));
    return member(name, value);
  }
  if (!lists) return member(json.string, value);
  std::vector<std::string> listed;
  for (const auto& property : *properties) listed.push_back(json_escaped(property.key()));
  std::size_t bytes = 0;
  for (const std::string& name : listed) bytes += name.size();
  // Each byte needs a table of 1 KiB while the automaton is made.
  if (!work(bytes * 4)) return {};
  const Part quote = builder_.literal("\"");
  const CodeSet plain =
      is_tagged ? CodeSet::all().without(CodeSet({{U'<', U'<'}})) : CodeSet::all();
  return member(builder_.sequence({quote, builder_.dfa(json_text_except(listed, plain)), quote}),
                value);
}

SchemaReader::Part SchemaReader::object_part(const Object& object, const std::string& path) {
  for (const std::string_view keyword : {"properties", "patternProperties"}) {
    const Value* const value = object.if_contains(keyword);
    if (value != nullptr && !value->is_object()) {
      return fail(below(path, keyword), "must be an object", false);
    }
  }
  const auto least = count(object, "minProperties", path);
  const auto most = count(object, "maxProperties", path);
  bool has_others = true;
  const Part other = other_member(object, path, has_others);
  if (error_) return {};
  const Object* const properties = object_at(object, "properties");
  const bool lists = properties != nullptr && !properties->empty();
  const JsonParts& json = builder_.json();
  if (lists || object.contains("required")) return members(object, path, other, has_others);

  const Part open = builder_.literal("{");
  const Part close = builder_.literal("}");
  if (!has_others || most == 0U) {
    if (least.value_or(0) > 0) return builder_.any_of(std::span<const Part>());
    return builder_.sequence({open, json.space, close});
  }
  const auto at_least = static_cast<std::uint32_t>(least.value_or(0));
  const auto at_most = most ? static_cast<std::uint32_t>(*most) : kNoBound;
  if (at_most < at_least || at_least == kNoBound) return builder_.any_of(std::span<const Part>());
  const Part more =
      builder_.repeat(builder_.sequence({json.comma, other}), at_least > 0 ? at_least - 1 : 0,
                      at_most == kNoBound ? kNoBound : at_most - 1);
  const Part all = builder_.sequence({other, more, json.space});
  return builder_.sequence({open, json.space, at_least > 0 ? all : builder_.optional(all), close});
}

/// Returns the properties in their order, and after them required names without a property.
std::vector<SchemaReader::Member> SchemaReader::members_of(const Object& object,
                                                           const std::string& path) {
  std::vector<Member> all;
  if (const Object* properties = object_at(object, "properties")) {
    for (const auto& property : *properties) {
      all.push_back({std::string(property.key()), &property.value(), false});
    }
  }
  const Value* const required = object.if_contains("required");
  if (required == nullptr) return all;
  if (!required->is_array()) {
    fail(below(path, "required"), "must be a list", false);
    return {};
  }
  all.reserve(all.size() + required->get_array().size());  // no reallocation, because the map holds
                                                           // views of the names
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) places.emplace(all[i].name, i);
  for (const Value& name : required->get_array()) {
    if (!name.is_string() || !work(1)) {
      fail(below(path, "required"), "must be a list of names", false);
      return {};
    }
    const std::string_view text(name.get_string());
    const auto found = places.find(text);
    if (found != places.end()) {
      all[found->second].is_required = true;
    } else {
      all.push_back({std::string(text), nullptr, true});
      places.emplace(all.back().name, all.size() - 1);
    }
  }
  return all;
}

/// Whether minProperties requires more properties than are listed, so that there must be others.
bool SchemaReader::needs_others(const Object& object, const std::string& path) {
  const auto least = count(object, "minProperties", path);
  return least && *least > members_of(object, path).size();
}

/// Returns an object that lists or requires properties. They come in their order, optional ones may
/// be missing, and other properties follow.
SchemaReader::Part SchemaReader::members(const Object& object, const std::string& path,
                                         Part additional_member, bool has_additional) {
  const JsonParts& json = builder_.json();
  const std::vector<Member> all = members_of(object, path);
  const Counts counts{count(object, "minProperties", path).value_or(0),
                      count(object, "maxProperties", path).value_or(kNoBound)};
  if (error_) return {};
  const bool named_freely =
      object.contains("patternProperties") || object.contains("propertyNames");
  const Value* const additional = object.if_contains("additionalProperties");
  std::vector<Listed> listed;
  for (const Member& one : all) {
    const std::string where = below(below(path, "properties"), one.name);
    bool is_any = one.schema == nullptr && additional == nullptr;
    if (one.schema == nullptr && named_freely) {
      is_any = true;
      if (!lets_pass(
              below(path, "required"),
              "names '" + one.name + "', which no property does; that is not supported here")) {
        return {};
      }
    }
    const Part value =
        is_any ? json.value : schema(one.schema != nullptr ? *one.schema : *additional, where);
    if (error_) return {};
    listed.push_back(
        {member(builder_.literal('"' + json_escaped(one.name) + '"'), value), one.is_required});
  }
  const auto others = has_additional ? std::optional(additional_member) : std::nullopt;
  const Part inside = some_in_order(listed, others, counts, path);
  return builder_.sequence({builder_.literal("{"), json.space, inside, builder_.literal("}")});
}

}  // namespace weft::grammar
