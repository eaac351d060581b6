#include "weft/text/jinja/values/attribute.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"

namespace weft::jinja {
namespace {

Value missing(const Value& object, std::string_view name) {
  return Undefined{name, Undefined::Cause::kAttribute, object.kind()};
}

Value unsafe(Run& run, const Value& object, std::string_view name) {
  const Value message = run.text(
      concat({"access to attribute '", name, "' of '", type_name(object), "' object is unsafe."}));
  if (message.text() == nullptr) return {};
  return Undefined{message.text()->view};
}

std::optional<Value> range_attribute(const Range& range, std::string_view name) {
  if (name == "start") return range.start;
  if (name == "stop") return range.stop;
  if (name == "step") return range.step;
  return std::nullopt;
}

std::optional<Value> group_attribute(const List& list, std::string_view name) {
  if (list.type != List::Type::kGroup) return std::nullopt;
  if (name == "grouper") return list.items[0];
  if (name == "list") return list.items[1];
  return std::nullopt;
}

/// Python's getattr(), except attributes that templates may not use.
std::optional<Value> own_attribute(Run& run, const Value& object, std::string_view name) {
  if (Object* own = object.object()) return own->attribute(run, name);
  if (const Range* range = object.range()) {
    if (auto value = range_attribute(*range, name)) return value;
  }
  if (const List* list = object.list()) {
    if (auto value = group_attribute(*list, name)) return value;
  }
  if (is_mutator(object, name)) return unsafe(run, object, name);
  if (const Builtin* method = find_method(object, name)) {
    return Value(static_cast<Object*>(run.make<BoundBuiltin>(*method, object)));
  }
  return std::nullopt;
}

/// Returns an index counted from either end; nothing when it is outside.
std::optional<std::size_t> place(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Value character(const Text& text, std::size_t offset) {
  const std::string_view rest = text.view.substr(offset);
  return Text{rest.substr(0, utf8_at(rest).length), text.markup};
}

/// text[index]. The text after the character is not read, unless the index counts from the end.
std::optional<Value> text_element(Run& run, const Text& text, std::int64_t index) {
  if (index >= 0) {
    const std::size_t end = code_point_offset(text.view, static_cast<std::size_t>(index));
    if (!run.step_scan(end) || end == text.view.size()) return std::nullopt;
    return character(text, end);
  }
  if (!run.step_scan(2 * text.view.size())) return std::nullopt;
  const auto at = place(index, count_code_points(text.view));
  return at ? std::optional(character(text, code_point_offset(text.view, *at))) : std::nullopt;
}

/// object[key] without attributes; nothing where Python raises TypeError or LookupError.
std::optional<Value> element(Run& run, const Value& object, const Value& key) {
  if (const Dict* dict = object.dict()) {
    const bool unhashable =
        key.dict() != nullptr || (key.list() != nullptr && !key.list()->is_tuple());
    if (unhashable || !check_hashable(run, key)) return std::nullopt;
    const Value* value = dict->find(key);
    if (value == nullptr) return std::nullopt;
    return *value;
  }
  const auto index = key.integer();
  if (!index) return std::nullopt;
  if (const Text* text = object.text()) {
    return text_element(run, *text, *index);
  }
  if (const List* list = object.list()) {
    const auto at = place(*index, list->items.size());
    return at ? std::optional(list->items[*at]) : std::nullopt;
  }
  if (const Range* range = object.range()) {
    const auto at = place(*index, static_cast<std::size_t>(range->size));
    if (!at) return std::nullopt;
    return range->at(static_cast<std::int64_t>(*at));
  }
  return std::nullopt;
}

/// The numbers that Python's slice.indices() returns.
struct Stride {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t size = 0;
};

std::int64_t clamp_bound(const Value& bound, std::int64_t fallback, std::int64_t size,
                         bool backwards) {
  if (bound.is_none()) return fallback;
  std::int64_t at = *bound.integer();
  const std::int64_t low = backwards ? -1 : 0;
  const std::int64_t high = backwards ? size - 1 : size;
  if (at < 0) at = at < -size ? low : at + size;
  return std::clamp(at, low, std::max(low, high));
}

Stride stride(const Value& start, const Value& stop, std::int64_t step, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  const bool backwards = step < 0;
  const std::int64_t first = clamp_bound(start, backwards ? size - 1 : 0, size, backwards);
  const std::int64_t end = clamp_bound(stop, backwards ? -1 : size, size, backwards);
  const std::int64_t distance = backwards ? first - end : end - first;
  if (distance <= 0) return {first, step, 0};
  // Any step beyond the size gives one element, so |step| <= size loses nothing and keeps sums in
  // range.
  const std::int64_t pace = std::min(backwards ? -std::max(step, -size) : step, size);
  return {first, backwards ? -pace : pace, (distance - 1) / pace + 1};
}

Value slice_text(Run& run, const Text& text, const Value& start, const Value& stop,
                 std::int64_t step) {
  if (!run.step_scan(3 * text.view.size())) return {};
  const Stride cut = stride(start, stop, step, count_code_points(text.view));
  const auto first = static_cast<std::size_t>(cut.start);
  const auto count = static_cast<std::size_t>(cut.size);
  if (count == 0) return Text{{}, text.markup};
  if (cut.step == 1) {
    const std::string_view rest = text.view.substr(code_point_offset(text.view, first));
    return Text{rest.substr(0, code_point_offset(rest, count)), text.markup};
  }
  const auto characters = Items::of(run, text);
  if (!characters) return {};
  TextBuilder out(run);
  for (std::int64_t at = 0; at < cut.size; ++at) {
    const auto index = static_cast<std::size_t>(cut.start + at * cut.step);
    if (!out.append(characters->at(run, index).text()->view)) break;
  }
  return out.finish(text.markup);
}

Value slice_list(Run& run, const List& list, const Value& start, const Value& stop,
                 std::int64_t step) {
  const Stride cut = stride(start, stop, step, list.items.size());
  const List::Type type = list.is_tuple() ? List::Type::kTuple : List::Type::kList;
  if (cut.step == 1 || cut.size == 0) {
    const auto part = list.items.subspan(static_cast<std::size_t>(cut.size == 0 ? 0 : cut.start),
                                         static_cast<std::size_t>(cut.size));
    return static_cast<const List*>(run.make<List>(part, type));
  }
  ListBuilder out(run);
  for (std::int64_t at = 0; at < cut.size; ++at) {
    if (!out.push(list.items[static_cast<std::size_t>(cut.start + at * cut.step)])) break;
  }
  return out.finish(type);
}

Value slice_range(Run& run, const Range& range, const Value& start, const Value& stop,
                  std::int64_t step) {
  const Stride cut = stride(start, stop, step, static_cast<std::size_t>(range.size));
  const std::int64_t pace = range.step * cut.step;
  const std::int64_t first = range.at(cut.start);
  return static_cast<const Range*>(run.make<Range>(first, pace, cut.size, first + pace * cut.size));
}

bool is_bound(const Value& value) { return value.is_none() || value.integer().has_value(); }

}  // namespace

Value attribute(Run& run, const Value& object, std::string_view name) {
  if (const Undefined* undefined = object.undefined()) {
    return run.fail(undefined_message(*undefined));
  }
  if (auto value = own_attribute(run, object, name)) return *value;
  if (const Dict* dict = object.dict()) {
    if (!check_hashable(run, Text{name})) return {};
    if (const Value* value = dict->find(name)) return *value;
  }
  if (name.starts_with("__")) return unsafe(run, object, name);
  return missing(object, name);
}

Value item(Run& run, const Value& object, const Value& key) {
  if (const Undefined* undefined = object.undefined()) {
    return run.fail(undefined_message(*undefined));
  }
  if (auto value = element(run, object, key)) return *value;
  const Text* name = key.text();
  if (name == nullptr) return Undefined{"there is no such element"};
  if (auto value = own_attribute(run, object, name->view)) return *value;
  if (name->view.starts_with("__")) return unsafe(run, object, name->view);
  return missing(object, name->view);
}

Value slice(Run& run, const Value& object, const Value& start, const Value& stop,
            const Value& step) {
  if (const Undefined* undefined = object.undefined()) {
    return run.fail(undefined_message(*undefined));
  }
  const bool sliceable =
      object.text() != nullptr || object.list() != nullptr || object.range() != nullptr;
  if (!sliceable || !is_bound(start) || !is_bound(stop) || !is_bound(step)) {
    return run.fail("'", type_name(object), "' object cannot be sliced like this");
  }
  const std::int64_t pace = step.is_none() ? 1 : *step.integer();
  if (pace == 0) return run.fail("slice step cannot be zero");
  if (const Text* text = object.text()) return slice_text(run, *text, start, stop, pace);
  if (const List* list = object.list()) return slice_list(run, *list, start, stop, pace);
  return slice_range(run, *object.range(), start, stop, pace);
}

Value attribute_path(Run& run, const Value& object, const Value& path) {
  if (path.is_none()) return object;
  const Text* text = path.text();
  if (text == nullptr) return item(run, object, path);
  if (!run.step_scan(text->view.size())) return {};
  Value value = object;
  std::string_view rest = text->view;
  while (run.step()) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    std::int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number =
        read.ec == std::errc{} && read.ptr == part.data() + part.size() && !part.starts_with('-');
    value = item(run, value, number ? Value(index) : Value(Text{part}));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  return value;
}

}  // namespace weft::jinja
