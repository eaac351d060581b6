#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/values/attribute.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"

/// Filters that split and join sequences.
namespace weft::jinja {
namespace {

Value filter_length(Run& run, const Value& self, const Slots& /*slots*/) {
  if (const Text* text = self.text(); text != nullptr && !run.step_scan(text->view.size())) {
    return {};
  }
  const auto size = size_of(self);
  if (!size) return run.fail("object of type '", type_name(self), "' has no len()");
  return static_cast<std::int64_t>(*size);
}

Value filter_default(Run& /*run*/, const Value& self, const Slots& slots) {
  const bool absent = self.is_undefined() || (slots.truth(1, false) && !truth(self));
  return absent ? slots.get(0, Text{}) : self;
}

Value filter_first(Run& run, const Value& self, const Slots& /*slots*/) {
  if (Iterator* iterator = self.iterator()) {
    return iterator->next(run).value_or(Undefined{"No first item, sequence was empty."});
  }
  if (const Text* text = self.text(); text != nullptr && !text->view.empty()) {
    return Text{text->view.substr(0, utf8_at(text->view).length), text->markup};
  }
  const auto items = Items::of(run, self);
  if (!items) return {};
  if (items->size() == 0) return Undefined{"No first item, sequence was empty."};
  return items->at(run, 0);
}

/// Python's reversed() takes no iterators.
std::optional<Items> reversible(Run& run, const Value& self) {
  if (self.iterator() != nullptr) {
    run.fail("'generator' object is not reversible");
    return std::nullopt;
  }
  return Items::of(run, self);
}

Value filter_last(Run& run, const Value& self, const Slots& /*slots*/) {
  if (const Text* text = self.text(); text != nullptr && !text->view.empty()) {
    const std::size_t bytes = last_utf8(text->view).length;
    return Text{text->view.substr(text->view.size() - bytes), text->markup};
  }
  const auto items = reversible(run, self);
  if (!items) return {};
  if (items->size() == 0) return Undefined{"No last item, sequence was empty."};
  return items->at(run, items->size() - 1);
}

Value filter_list(Run& run, const Value& self, const Slots& /*slots*/) {
  const auto items = Items::of(run, self);
  if (!items) return {};
  const auto all = items->materialize(run);
  if (!run.step(all.size())) return {};
  return static_cast<const List*>(run.make<List>(all, List::Type::kList));
}

Value filter_join(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  if (!items) return {};
  const Text separator = to_text(run, slots.get(0, Text{}));
  TextBuilder out(run);
  for (std::size_t at = 0; at < items->size() && run.step(); ++at) {
    if (at != 0) out.append(separator.view);
    print(out, attribute_path(run, items->at(run, at), slots.get(1, None{})));
  }
  return out.finish();
}

Value reverse_text(Run& run, const Text& text) {
  if (!run.step_read(text.view.size())) return {};
  TextBuilder out(run);
  for (std::string_view rest = text.view; !rest.empty();) {
    const std::size_t bytes = last_utf8(rest).length;
    if (!out.append(rest.substr(rest.size() - bytes))) break;
    rest.remove_suffix(bytes);
  }
  return out.finish(text.markup);
}

Value filter_reverse(Run& run, const Value& self, const Slots& /*slots*/) {
  if (const Text* text = self.text()) return reverse_text(run, *text);
  const auto items = Items::of(run, self);
  if (!items) return {};
  ListBuilder backwards(run);
  for (std::size_t at = items->size(); at > 0; --at) {
    if (!backwards.push(items->at(run, at - 1))) break;
  }
  // Jinja copies values that cannot be reversed in place into a list.
  const bool copied = self.iterator() != nullptr || self.is_undefined();
  return copied ? backwards.finish() : backwards.finish_iterator();
}

Value filter_items(Run& run, const Value& self, const Slots& /*slots*/) {
  if (self.is_undefined()) return ListBuilder(run).finish_iterator();
  if (self.dict() == nullptr) return run.fail("Can only get item pairs from a mapping.");
  return static_cast<Iterator*>(
      run.make<ItemsIterator>(Items(View{self.dict(), View::Part::kItems})));
}

Value filter_batch(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  const auto size = slots.integer(run, 0, 0);
  if (!items || !size) return {};
  ListBuilder batches(run);
  std::pmr::vector<Value> batch(run.scratch());
  for (std::size_t at = 0; at < items->size() && run.step(); ++at) {
    if (at != 0 && static_cast<std::int64_t>(batch.size()) == *size) {
      batches.push(run.list(batch));
      batch.clear();
    }
    batch.push_back(items->at(run, at));
  }
  if (!batch.empty()) {
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(*size, 0));
    const bool fill = !slots.is_none(1);
    while (fill && batch.size() < wanted && run.step()) {
      batch.push_back(slots[1]);
    }
    batches.push(run.list(batch));
  }
  return batches.finish_iterator();
}

Value filter_slice(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  const auto count = slots.integer(run, 0, 0);
  if (!items || !count) return {};
  if (*count == 0) return run.fail("integer division or modulo by zero");
  const auto all = items->materialize(run);
  const auto slices = static_cast<std::size_t>(std::max<std::int64_t>(*count, 0));
  ListBuilder columns(run);
  std::size_t start = 0;
  for (std::size_t number = 0; number < slices; ++number) {
    const bool extra = number < all.size() % slices;
    const std::size_t size = all.size() / slices + (extra ? 1 : 0);
    const auto part = all.subspan(start, size);
    std::pmr::vector<Value> column(part.begin(), part.end(), run.scratch());
    if (!slots.is_none(1) && !extra) column.push_back(slots[1]);
    if (!columns.push(run.list(column))) break;
    start += size;
  }
  return columns.finish_iterator();
}

Value filter_attr(Run& run, const Value& self, const Slots& slots) {
  const auto name = slots.text(run, 0, {});
  if (!name) return {};
  if (self.dict() != nullptr && find_method(self, *name) == nullptr) {
    return Undefined{*name, Undefined::Cause::kAttribute, Kind::kDict};
  }
  return attribute(run, self, *name);
}

constexpr std::array kSequenceFilters = {
    Builtin{"length", filter_length, 0, {}},
    Builtin{"count", filter_length, 0, {}},
    Builtin{"default", filter_default, 0, {"default_value", "boolean"}},
    Builtin{"d", filter_default, 0, {"default_value", "boolean"}},
    Builtin{"first", filter_first, 0, {}},
    Builtin{"last", filter_last, 0, {}},
    Builtin{"list", filter_list, 0, {}},
    Builtin{"join", filter_join, 0, {"d", "attribute"}},
    Builtin{"reverse", filter_reverse, 0, {}},
    Builtin{"items", filter_items, 0, {}},
    Builtin{"batch", filter_batch, 1, {"linecount", "fill_with"}},
    Builtin{"slice", filter_slice, 1, {"slices", "fill_with"}},
    Builtin{"attr", filter_attr, 1, {"name"}},
};

}  // namespace

std::span<const Builtin> sequence_filters() { return kSequenceFilters; }

}  // namespace weft::jinja
