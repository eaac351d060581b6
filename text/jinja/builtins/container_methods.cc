#include <array>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"

/// Methods of lists, tuples, ranges and dicts that do not change their object.
namespace weft::jinja {
namespace {

Value list_count(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  std::int64_t found = 0;
  for (std::size_t at = 0; items && at < items->size() && run.step(); ++at) {
    if (equal(run, items->at(run, at), slots[0])) ++found;
  }
  return found;
}

/// A bound counted from either end.
std::size_t clamped(std::int64_t at, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (at < 0) at = at < -count ? 0 : at + count;
  return static_cast<std::size_t>(std::min(at, count));
}

Value list_index(Run& run, const Value& self, const Slots& slots) {
  const auto items = Items::of(run, self);
  const auto start = slots.integer(run, 1, 0);
  if (!items || !start) return {};
  const auto stop = slots.integer(run, 2, static_cast<std::int64_t>(items->size()));
  if (!stop) return {};
  const std::size_t end = clamped(*stop, items->size());
  for (std::size_t at = clamped(*start, items->size()); at < end && run.step(); ++at) {
    if (equal(run, items->at(run, at), slots[0])) return static_cast<std::int64_t>(at);
  }
  return run.fail("the value is not in the list");
}

Value copy(Run& /*run*/, const Value& self, const Slots& /*slots*/) { return self; }

Value dict_get(Run& run, const Value& self, const Slots& slots) {
  if (!check_hashable(run, slots[0])) return {};
  const Value* value = self.dict()->find(slots[0]);
  return value != nullptr ? *value : slots.get(1, None{});
}

Value view(Run& run, const Value& self, View::Part part) {
  return static_cast<const View*>(run.make<View>(self.dict(), part));
}

Value dict_keys(Run& run, const Value& self, const Slots& /*slots*/) {
  return view(run, self, View::Part::kKeys);
}

Value dict_values(Run& run, const Value& self, const Slots& /*slots*/) {
  return view(run, self, View::Part::kValues);
}

Value dict_items(Run& run, const Value& self, const Slots& /*slots*/) {
  return view(run, self, View::Part::kItems);
}

constexpr std::array kListMethods = {
    Builtin{"count", list_count, 1, {"<value>"}},
    Builtin{"index", list_index, 1, {"<value>", "<start>", "<stop>"}},
    Builtin{"copy", copy, 0, {}},
};

constexpr std::array kDictMethods = {
    Builtin{"get", dict_get, 1, {"<key>", "<default>"}},
    Builtin{"keys", dict_keys, 0, {}},
    Builtin{"values", dict_values, 0, {}},
    Builtin{"items", dict_items, 0, {}},
    Builtin{"copy", copy, 0, {}},
};

}  // namespace

std::span<const Builtin> list_methods() { return kListMethods; }

std::span<const Builtin> dict_methods() { return kDictMethods; }

}  // namespace weft::jinja
