#include "weft/text/jinja/builtins.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/object.h"

namespace weft::jinja {
namespace {

std::string quoted(std::string_view text) { return concat({"'", text, "'"}); }

const Builtin* find_in(std::initializer_list<std::span<const Builtin>> tables,
                       std::string_view name) {
  for (const auto table : tables) {
    const auto row = std::ranges::find(table, name, &Builtin::name);
    if (row != table.end()) return &*row;
  }
  return nullptr;
}

std::size_t parameter_count(const Builtin& builtin) {
  const auto end = std::ranges::find(builtin.parameters, std::string_view{});
  return static_cast<std::size_t>(end - builtin.parameters.begin());
}

bool bind(Run& run, const Builtin& builtin, const Arguments& arguments, Slots& slots) {
  const std::size_t count = parameter_count(builtin);
  const std::string name(builtin.name);
  if (arguments.positional.size() > count) {
    run.fail(name, " takes at most ", std::to_string(count), " arguments");
    return false;
  }
  for (std::size_t at = 0; at < arguments.positional.size(); ++at) {
    slots.set(at, &arguments.positional[at]);
  }
  for (const Keyword& keyword : arguments.keywords) {
    const auto found = std::ranges::find(builtin.parameters, keyword.name);
    const auto at = static_cast<std::size_t>(found - builtin.parameters.begin());
    if (at >= count || slots.has(at)) {
      run.fail(name, at >= count ? " has no argument " : " got two values for ",
               quoted(keyword.name));
      return false;
    }
    slots.set(at, &keyword.value);
  }
  for (std::size_t at = 0; at < builtin.required; ++at) {
    if (slots.has(at)) continue;
    run.fail(name, " needs the argument ", quoted(builtin.parameters[at]));
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> Slots::integer(Run& run, std::size_t index,
                                           std::int64_t fallback) const {
  if (!has(index)) return fallback;
  const auto value = slots_[index]->integer();
  if (!value) {
    run.fail(quoted(type_name(*slots_[index])), " object cannot be interpreted as an integer");
  }
  return value;
}

std::optional<std::string_view> Slots::text(Run& run, std::size_t index,
                                            std::string_view fallback) const {
  if (!has(index)) return fallback;
  if (const Text* value = slots_[index]->text()) return value->view;
  run.fail("expected a string, not ", quoted(type_name(*slots_[index])));
  return std::nullopt;
}

bool Slots::truth(std::size_t index, bool fallback) const {
  return has(index) ? jinja::truth(*slots_[index]) : fallback;
}

const Keyword* find_keyword(Run& run, const Arguments& arguments, std::string_view name) {
  const std::size_t each = 1 + name.size() / kScannedBytesPerStep;
  if (!run.step_look(arguments.keywords.size() * each)) return nullptr;
  const auto found = std::ranges::find(arguments.keywords, name, &Keyword::name);
  return found == arguments.keywords.end() ? nullptr : &*found;
}

Value call(Run& run, const Builtin& builtin, const Value& self, const Arguments& arguments) {
  if (!run.step()) return {};
  Slots slots(arguments);
  if (builtin.required != kVariadic && !bind(run, builtin, arguments, slots)) return {};
  return builtin.function(run, self, slots);
}

const Builtin* find_filter(std::string_view name) {
  return find_in({text_filters(), layout_filters(), number_filters(), sequence_filters(),
                  selection_filters(), order_filters(), json_filters()},
                 name);
}

const Builtin* find_test(std::string_view name) { return find_in({tests()}, name); }

const Builtin* find_global(std::string_view name) { return find_in({globals()}, name); }

const Builtin* find_method(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::kText:
      return find_in({text_methods(), text_question_methods(), split_methods()}, name);
    case Kind::kList: {
      const bool tuple_lacks = self.list()->is_tuple() && name == "copy";
      return tuple_lacks ? nullptr : find_in({list_methods()}, name);
    }
    case Kind::kRange:
      return name == "copy" ? nullptr : find_in({list_methods()}, name);
    case Kind::kDict:
      return find_in({dict_methods()}, name);
    default:
      return nullptr;
  }
}

bool is_mutator(const Value& self, std::string_view name) {
  constexpr std::array<std::string_view, 8> kOfList = {"append", "clear", "pop",    "reverse",
                                                       "insert", "sort",  "extend", "remove"};
  constexpr std::array<std::string_view, 5> kOfDict = {"clear", "pop", "popitem", "setdefault",
                                                       "update"};
  if (self.dict() != nullptr) return std::ranges::find(kOfDict, name) != kOfDict.end();
  const List* list = self.list();
  return list != nullptr && !list->is_tuple() && std::ranges::find(kOfList, name) != kOfList.end();
}

}  // namespace weft::jinja
