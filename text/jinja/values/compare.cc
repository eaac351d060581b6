#include "weft/text/jinja/values/compare.h"

#include <algorithm>
#include <string>

#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/text_search.h"

namespace weft::jinja {
namespace {

/// Guards recursion over nested values.
bool enter(Run& run, std::size_t depth) {
  if (depth > kMaxDataDepth) run.fail_limit("values nested too deep to compare");
  return run.step();
}

bool is_number(const Value& value) {
  return value.kind() == Kind::kBool || value.kind() == Kind::kInteger ||
         value.kind() == Kind::kFloat;
}

bool equal_at(Run& run, const Value& left, const Value& right, std::size_t depth);

bool equal_texts(Run& run, std::string_view left, std::string_view right) {
  return left.size() == right.size() && run.step_scan(left.size()) && left == right;
}

bool equal_items(Run& run, const List& left, const List& right, std::size_t depth) {
  if (left.is_tuple() != right.is_tuple() || left.items.size() != right.items.size()) return false;
  for (std::size_t at = 0; at < left.items.size(); ++at) {
    if (!equal_at(run, left.items[at], right.items[at], depth + 1)) return false;
  }
  return true;
}

bool equal_dicts(Run& run, const Dict& left, const Dict& right, std::size_t depth) {
  if (left.size() != right.size()) return false;
  return std::ranges::all_of(left.entries(), [&](const Dict::Entry& entry) {
    const Value* other = check_hashable(run, entry.key) ? right.find(entry.key) : nullptr;
    return other != nullptr && equal_at(run, entry.value, *other, depth + 1);
  });
}

bool equal_ranges(const Range& left, const Range& right) {
  if (left.size != right.size) return false;
  if (left.size == 0) return true;
  return left.start == right.start && (left.size == 1 || left.step == right.step);
}

bool equal_at(Run& run, const Value& left, const Value& right, std::size_t depth) {
  if (!enter(run, depth)) return false;
  if (is_number(left) && is_number(right)) return exact_number(left) == exact_number(right);
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kText:
      return equal_texts(run, left.text()->view, right.text()->view);
    case Kind::kList:
      return equal_items(run, *left.list(), *right.list(), depth);
    case Kind::kDict:
      return equal_dicts(run, *left.dict(), *right.dict(), depth);
    case Kind::kRange:
      return equal_ranges(*left.range(), *right.range());
    default:
      break;
  }
  return key_order(left, right) == 0;  // the same object, or undefined or none on both sides
}

Value not_ordered(Run& run, const Value& left, const Value& right) {
  if (const Undefined* undefined = left.undefined()) return run.fail(undefined_message(*undefined));
  if (const Undefined* undefined = right.undefined()) {
    return run.fail(undefined_message(*undefined));
  }
  return run.fail("'<' not supported between instances of '", type_name(left), "' and '",
                  type_name(right), "'");
}

bool ordered_at(Run& run, const Value& left, const Value& right, bool or_equal, std::size_t depth);

bool ordered_items(Run& run, const List& left, const List& right, bool or_equal,
                   std::size_t depth) {
  const std::size_t both = std::min(left.items.size(), right.items.size());
  for (std::size_t at = 0; at < both; ++at) {
    if (equal_at(run, left.items[at], right.items[at], depth + 1)) continue;
    return ordered_at(run, left.items[at], right.items[at], or_equal, depth + 1);
  }
  return or_equal ? left.items.size() <= right.items.size()
                  : left.items.size() < right.items.size();
}

bool ordered_at(Run& run, const Value& left, const Value& right, bool or_equal, std::size_t depth) {
  if (!enter(run, depth)) return false;
  if (is_number(left) && is_number(right)) {
    return or_equal ? exact_number(left) <= exact_number(right)
                    : exact_number(left) < exact_number(right);
  }
  if (left.text() != nullptr && right.text() != nullptr) {
    if (!run.step_scan(left.text()->view.size())) return false;
    const int order = left.text()->view.compare(right.text()->view);
    return or_equal ? order <= 0 : order < 0;
  }
  const List* left_list = left.list();
  const List* right_list = right.list();
  if (left_list != nullptr && right_list != nullptr &&
      left_list->is_tuple() == right_list->is_tuple()) {
    return ordered_items(run, *left_list, *right_list, or_equal, depth);
  }
  not_ordered(run, left, right);
  return false;
}

/// The number of keys that a look-up compares with.
constexpr std::size_t kLooks = 16;

bool check_hashable_at(Run& run, const Value& value, std::size_t depth) {
  if (!enter(run, depth)) return false;
  if (const Text* text = value.text()) return run.step_scan(kLooks * text->view.size());
  const List* list = value.list();
  if (list != nullptr && list->is_tuple()) {
    return std::ranges::all_of(
        list->items, [&](const Value& item) { return check_hashable_at(run, item, depth + 1); });
  }
  if (list == nullptr && value.dict() == nullptr && value.view() == nullptr) return true;
  run.fail("unhashable type: '", type_name(value), "'");
  return false;
}

bool contains_text(Run& run, const Text& container, const Value& value) {
  const Text* part = value.text();
  if (part == nullptr) {
    run.fail("'in <string>' requires string as left operand, not ", type_name(value));
    return false;
  }
  return run.step_read(container.view.size()) && find(container.view, part->view) != kNotFound;
}

}  // namespace

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return *value.boolean();
    case Kind::kInteger:
      return *value.integer() != 0;
    case Kind::kFloat:
      return *value.real() != 0;
    case Kind::kText:
      return !value.text()->view.empty();
    case Kind::kIterator:
      return true;
    case Kind::kObject:
      return value.object()->size().value_or(1) != 0;
    default:
      return size_of(value).value_or(1) != 0;
  }
}

bool equal(Run& run, const Value& left, const Value& right) {
  return equal_at(run, left, right, 0);
}

bool less(Run& run, const Value& left, const Value& right) {
  return ordered_at(run, left, right, false, 0);
}

bool less_equal(Run& run, const Value& left, const Value& right) {
  return ordered_at(run, left, right, true, 0);
}

bool contains(Run& run, const Value& container, const Value& value) {
  if (const Text* text = container.text()) return contains_text(run, *text, value);
  const View* view = container.view();
  const bool keys = view != nullptr && view->part == View::Part::kKeys;
  if (const Dict* dict = keys ? view->dict : container.dict()) {
    return check_hashable(run, value) && dict->find(value) != nullptr;
  }
  if (!Items::exist(container)) {
    run.fail("argument of type '", type_name(container), "' is not iterable");
    return false;
  }
  Iterator* items = iterate(run, container);
  if (items == nullptr) return false;
  for (auto item = items->next(run); item && !run.failed(); item = items->next(run)) {
    if (equal(run, *item, value)) return true;
  }
  return false;
}

bool check_hashable(Run& run, const Value& value) { return check_hashable_at(run, value, 0); }

}  // namespace weft::jinja
