#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/values/arithmetic.h"
#include "weft/text/jinja/values/attribute.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/text_ops.h"

/// Filters that compare the elements of a sequence with each other.
namespace weft::jinja {
namespace {

Value fold_case(Run& run, const Value& value, bool case_sensitive) {
  const Text* text = value.text();
  return text == nullptr || case_sensitive ? value : lower(run, *text);
}

/// The value by which an element is compared.
Value key_of(Run& run, const Value& item, const Value& path, bool case_sensitive) {
  return fold_case(run, attribute_path(run, item, path), case_sensitive);
}

struct Keyed {
  Value key;
  Value item;
};

using AllKeyed = std::pmr::vector<Keyed>;

AllKeyed keyed(Run& run, const Items& items, const Value& path, bool case_sensitive) {
  AllKeyed all(run.scratch());
  for (std::size_t at = 0; at < items.size() && run.step(); ++at) {
    const Value item = items.at(run, at);
    all.push_back({key_of(run, item, path, case_sensitive), item});
  }
  return all;
}

/// The sort is stable, and `reverse` keeps equal elements in their order, as in Python's sorted().
/// Once the run has failed no value is less than another, which ends the sort.
void sort_keyed(Run& run, AllKeyed& all, bool reverse) {
  if (!run.has_room(all.size() * sizeof(Keyed))) return;  // sorting needs the same memory again
  std::ranges::stable_sort(all, [&](const Keyed& left, const Keyed& right) {
    return reverse ? less(run, right.key, left.key) : less(run, left.key, right.key);
  });
}

Value items_of(Run& run, const AllKeyed& all) {
  ListBuilder out(run);
  for (const Keyed& one : all) {
    if (!out.push(one.item)) break;
  }
  return out.finish();
}

/// The keys of several attributes, "a,b", as a list.
Value keys_of(Run& run, const Value& item, std::string_view paths, bool case_sensitive) {
  std::pmr::vector<Value> keys(run.scratch());
  while (run.step()) {
    const std::size_t comma = paths.find(',');
    keys.push_back(key_of(run, item, Text{paths.substr(0, comma)}, case_sensitive));
    if (comma == std::string_view::npos) break;
    paths.remove_prefix(comma + 1);
  }
  return run.list(keys);
}

Value filter_sort(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  if (!items) return {};
  const bool case_sensitive = slots.truth(1, false);
  const Value path = slots.get(2, None{});
  auto all = keyed(run, *items, path.text() == nullptr ? path : None{}, case_sensitive);
  for (Keyed& one : all) {
    if (path.text() == nullptr) break;
    one.key = keys_of(run, one.item, path.text()->view, case_sensitive);
  }
  sort_keyed(run, all, slots.truth(0, false));
  return items_of(run, all);
}

Value filter_unique(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  if (!items) return {};
  std::pmr::set<Value, KeyLess> seen(run.scratch());
  ListBuilder out(run);
  for (const Keyed& one : keyed(run, *items, slots.get(1, None{}), slots.truth(0, false))) {
    if (!check_hashable(run, one.key)) break;
    if (seen.insert(one.key).second) out.push(one.item);
  }
  return out.finish_iterator();
}

Value filter_dictsort(Run& run, const Value& self, const Slots& slots) {
  const auto by = slots.text(run, 1, "key");
  if (!by) return {};
  if (*by != "key" && *by != "value") {
    return run.fail(R"(You can only sort by either "key" or "value")");
  }
  if (self.dict() == nullptr) return run.fail("dictsort wants a mapping");
  const Items pairs(View{self.dict(), View::Part::kItems});
  auto all = keyed(run, pairs, std::int64_t{*by == "key" ? 0 : 1}, slots.truth(0, false));
  sort_keyed(run, all, slots.truth(2, false));
  return items_of(run, all);
}

Value group(Run& run, const Value& key, std::span<const Value> members) {
  const std::array pair = {key, run.list(members)};
  return run.list(pair, List::Type::kGroup);
}

Value filter_groupby(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  if (!items) return {};
  const Value fallback = slots.get(1, None{});
  const bool case_sensitive = slots.truth(2, false);
  const auto with_fallback = [&](const Value& key) {
    return key.is_undefined() && !fallback.is_none() ? fallback : key;
  };
  auto all = keyed(run, *items, slots[0], true);
  for (Keyed& one : all) one.key = fold_case(run, with_fallback(one.key), case_sensitive);
  sort_keyed(run, all, false);
  ListBuilder out(run);
  for (std::size_t at = 0; at < all.size() && run.step();) {
    std::pmr::vector<Value> members(run.scratch());
    const std::size_t first = at;
    while (at < all.size() && equal(run, all[at].key, all[first].key)) {
      members.push_back(all[at++].item);
    }
    if (at == first) break;  // NaN is not equal to itself, and a spent budget makes no value equal
    // The group's name is spelled as in its first member.
    const Value name = with_fallback(attribute_path(run, members.front(), slots[0]));
    out.push(group(run, name, members));
  }
  return out.finish();
}

Value extreme(Run& run, const Value& self, const Slots& slots, bool largest) {
  const auto items = Items::of(run, self);
  if (!items) return {};
  const auto all = keyed(run, *items, slots.get(1, None{}), slots.truth(0, false));
  if (all.empty()) return Undefined{"No aggregated item, sequence was empty."};
  const Keyed* best = &all.front();
  for (const Keyed& one : std::span(all).subspan(1)) {
    const bool better = largest ? less(run, best->key, one.key) : less(run, one.key, best->key);
    if (better) best = &one;
  }
  return best->item;
}

Value filter_min(Run& run, const Value& self, const Slots& slots) {
  return extreme(run, self, slots, false);
}

Value filter_max(Run& run, const Value& self, const Slots& slots) {
  return extreme(run, self, slots, true);
}

Value filter_sum(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  if (!items) return {};
  Value sum = slots.get(1, std::int64_t{0});
  if (sum.text() != nullptr) return run.fail("sum() can't sum strings");
  for (std::size_t at = 0; at < items->size() && run.step(); ++at) {
    const Value value = attribute_path(run, items->at(run, at), slots.get(0, None{}));
    sum = arithmetic(run, ast::ArithmeticOp::kAdd, sum, value);
  }
  return sum;
}

constexpr std::array kOrderFilters = {
    Builtin{"sort", filter_sort, 0, {"reverse", "case_sensitive", "attribute"}},
    Builtin{"unique", filter_unique, 0, {"case_sensitive", "attribute"}},
    Builtin{"dictsort", filter_dictsort, 0, {"case_sensitive", "by", "reverse"}},
    Builtin{"groupby", filter_groupby, 1, {"attribute", "default", "case_sensitive"}},
    Builtin{"min", filter_min, 0, {"case_sensitive", "attribute"}},
    Builtin{"max", filter_max, 0, {"case_sensitive", "attribute"}},
    Builtin{"sum", filter_sum, 0, {"attribute", "start"}},
};

}  // namespace

std::span<const Builtin> order_filters() { return kOrderFilters; }

}  // namespace weft::jinja
