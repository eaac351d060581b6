#include <array>
#include <string>

#include "weft/text/jinja_attribute.h"
#include "weft/text/jinja_builtins.h"
#include "weft/text/jinja_compare.h"
#include "weft/text/jinja_items.h"

/// map, select and their like. Jinja makes generators; here their elements are worked out at once.
namespace weft::jinja {
namespace {

/// map(attribute=..., default=...)
Value map_attribute(Run& run, const Items& items, const Arguments& arguments) {
  Value path;
  Value fallback = None{};
  for (const Keyword& keyword : arguments.keywords) {
    if (keyword.name == "attribute") {
      path = keyword.value;
    } else if (keyword.name == "default") {
      fallback = keyword.value;
    } else {
      return run.fail("Unexpected keyword argument '" + std::string(keyword.name) + "'");
    }
  }
  ListBuilder out(run);
  for (std::size_t at = 0; at < items.size(); ++at) {
    Value value = attribute_path(run, items.at(run, at), path);
    if (value.is_undefined() && !fallback.is_none()) value = fallback;
    if (!out.push(value)) break;
  }
  return out.finish_iterator();
}

bool names_attribute(const Arguments& arguments) {
  for (const Keyword& keyword : arguments.keywords) {
    if (keyword.name == "attribute") return true;
  }
  return false;
}

Value filter_map(Run& run, const Value& self, const Slots& slots) {
  const auto items = truth(self) ? Items::of(run, self) : Items(std::span<const Value>{});
  if (!items) return {};
  const Arguments& all = slots.all();
  if (all.positional.empty() && names_attribute(all)) return map_attribute(run, *items, all);
  if (items->size() == 0) return ListBuilder(run).finish_iterator();
  const Text* name = all.positional.empty() ? nullptr : all.positional[0].text();
  if (name == nullptr) return run.fail("map requires a filter argument");
  const Builtin* filter = find_filter(name->view);
  if (filter == nullptr) return run.fail("No filter named '" + std::string(name->view) + "'.");
  ListBuilder out(run);
  for (std::size_t at = 0; at < items->size(); ++at) {
    const Arguments arguments{all.positional.subspan(1), all.keywords};
    if (!out.push(call(run, *filter, items->at(run, at), arguments))) break;
  }
  return out.finish_iterator();
}

/// The elements for which a test says `wanted`; of an attribute of theirs, when there is one.
Value pick(Run& run, const Value& self, const Arguments& all, bool wanted, bool by_attribute) {
  const auto items = truth(self) ? Items::of(run, self) : Items(std::span<const Value>{});
  if (!items) return {};
  if (items->size() == 0) return ListBuilder(run).finish_iterator();
  const std::size_t first = by_attribute ? 1 : 0;
  if (all.positional.size() < first) return run.fail("Missing parameter for attribute name");
  const Builtin* test = nullptr;
  Arguments arguments{{}, all.keywords};
  if (all.positional.size() > first) {
    const Text* name = all.positional[first].text();
    test = name == nullptr ? nullptr : find_test(name->view);
    if (test == nullptr) return run.fail("there is no test of that name");
    arguments.positional = all.positional.subspan(first + 1);
  }
  ListBuilder out(run);
  for (std::size_t at = 0; at < items->size() && run.step(); ++at) {
    const Value item = items->at(run, at);
    const Value value = by_attribute ? attribute_path(run, item, all.positional[0]) : item;
    const bool holds = truth(test != nullptr ? call(run, *test, value, arguments) : value);
    if (holds == wanted && !out.push(item)) break;
  }
  return out.finish_iterator();
}

Value filter_select(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), true, false);
}

Value filter_reject(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), false, false);
}

Value filter_selectattr(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), true, true);
}

Value filter_rejectattr(Run& run, const Value& self, const Slots& slots) {
  return pick(run, self, slots.all(), false, true);
}

constexpr std::array kFilters = {
    Builtin{"map", filter_map, kVariadic, {}},
    Builtin{"select", filter_select, kVariadic, {}},
    Builtin{"reject", filter_reject, kVariadic, {}},
    Builtin{"selectattr", filter_selectattr, kVariadic, {}},
    Builtin{"rejectattr", filter_rejectattr, kVariadic, {}},
};

}  // namespace

std::span<const Builtin> selection_filters() { return kFilters; }

}  // namespace weft::jinja
