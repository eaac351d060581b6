#include "weft/text/jinja/values/items.h"

#include <array>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/values/object.h"

namespace weft::jinja {
namespace {

Value characters(Run& run, const Text& text) {
  ListBuilder list(run);
  std::string_view rest = text.view;
  while (!rest.empty()) {
    const std::size_t bytes = utf8_at(rest).length;
    if (!list.push(Text{rest.substr(0, bytes), text.markup})) break;
    rest.remove_prefix(bytes);
  }
  return list.finish();
}

}  // namespace

bool Items::exist(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kText:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kRange:
    case Kind::kView:
    case Kind::kIterator:
      return true;
    default:
      return false;
  }
}

std::optional<Items> Items::of(Run& run, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return Items(std::span<const Value>{});
    case Kind::kText: {
      const Value list = characters(run, *value.text());
      if (!list.list()) return std::nullopt;
      return Items(list.list()->items);
    }
    case Kind::kList:
      return Items(value.list()->items);
    case Kind::kDict:
      return Items(View{value.dict(), View::Part::kKeys});
    case Kind::kRange:
      return Items(value.range());
    case Kind::kView:
      return Items(*value.view());
    case Kind::kIterator:
      return value.iterator()->take(run);
    default:
      run.fail("'", type_name(value), "' object is not iterable");
      return std::nullopt;
  }
}

std::size_t Items::size() const {
  if (const auto* items = std::get_if<std::span<const Value>>(&source_)) return items->size();
  if (const auto* view = std::get_if<View>(&source_)) return view->dict->size();
  return static_cast<std::size_t>(std::get<const Range*>(source_)->size);
}

Value Items::at(Run& run, std::size_t index) const {
  if (const auto* items = std::get_if<std::span<const Value>>(&source_)) return (*items)[index];
  if (const auto* range = std::get_if<const Range*>(&source_)) {
    return (*range)->at(static_cast<std::int64_t>(index));
  }
  const View& view = std::get<View>(source_);
  const Dict::Entry& entry = view.dict->entries()[index];
  if (view.part == View::Part::kKeys) return entry.key;
  if (view.part == View::Part::kValues) return entry.value;
  const std::array pair = {entry.key, entry.value};
  return run.list(pair, List::Type::kTuple);
}

std::span<const Value> Items::materialize(Run& run, std::size_t first) const {
  if (const auto* items = std::get_if<std::span<const Value>>(&source_)) {
    return items->subspan(first);
  }
  ListBuilder list(run);
  for (std::size_t index = first; index < size(); ++index) {
    if (!list.push(at(run, index))) break;
  }
  const Value copy = list.finish();
  return copy.list() ? copy.list()->items : std::span<const Value>{};
}

Items Iterator::take(Run& run) {
  ListBuilder list(run);
  for (auto value = next(run); value; value = next(run)) {
    if (!list.push(*value)) break;
  }
  const Value rest = list.finish();
  return Items(rest.list() != nullptr ? rest.list()->items : std::span<const Value>{});
}

std::optional<Value> ItemsIterator::next(Run& run) {
  if (at_ >= items_.size() || run.failed()) return std::nullopt;
  return items_.at(run, at_++);
}

Iterator* iterate(Run& run, const Value& value) {
  if (Iterator* iterator = value.iterator()) return iterator;
  const auto items = Items::of(run, value);
  return items ? run.make<ItemsIterator>(*items) : nullptr;
}

std::optional<std::size_t> size_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kText:
      return count_code_points(value.text()->view);
    case Kind::kList:
      return value.list()->items.size();
    case Kind::kDict:
      return value.dict()->size();
    case Kind::kRange:
      return static_cast<std::size_t>(value.range()->size);
    case Kind::kView:
      return value.view()->dict->size();
    case Kind::kObject:
      return value.object()->size();
    default:
      return std::nullopt;
  }
}

}  // namespace weft::jinja
