#include <algorithm>
#include <array>
#include <string>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/builtins/strftime.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"

/// The functions that every template knows.
namespace weft::jinja {
namespace {

/// Returns the count of numbers from start to stop; nothing when it exceeds kMaxRange.
std::optional<std::int64_t> range_size(std::int64_t start, std::int64_t stop, std::int64_t step) {
  const bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  const auto low = static_cast<std::uint64_t>(up ? start : stop);
  const auto high = static_cast<std::uint64_t>(up ? stop : start);
  const std::uint64_t pace =
      up ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::uint64_t size = (high - low - 1) / pace + 1;
  if (size > kMaxRange) return std::nullopt;
  return static_cast<std::int64_t>(size);
}

Value global_range(Run& run, const Value& /*self*/, const Slots& slots) {
  const auto first = slots.integer(run, 0, 0);
  const auto second = slots.integer(run, 1, 0);
  const auto step = slots.integer(run, 2, 1);
  if (!first || !second || !step) return {};
  if (*step == 0) return run.fail("range() arg 3 must not be zero");
  const std::int64_t start = slots.has(1) ? *first : 0;
  const std::int64_t stop = slots.has(1) ? *second : *first;
  const auto size = range_size(start, stop, *step);
  if (!size) {
    return run.fail_limit("a range has more than ", std::to_string(kMaxRange), " elements");
  }
  return static_cast<const Range*>(run.make<Range>(start, *step, *size, stop));
}

/// Adds the pairs of a mapping or of a sequence of pairs.
bool add_pairs(Run& run, const Value& source, Dict& dict) {
  const auto pairs = source.dict() != nullptr ? Items(View{source.dict(), View::Part::kItems})
                                              : Items::of(run, source);
  for (std::size_t at = 0; pairs && at < pairs->size(); ++at) {
    const Value pair = pairs->at(run, at);
    const auto parts = Items::of(run, pair);
    if (!parts) return false;
    if (parts->size() != 2) {
      run.fail("dictionary update sequence element is no pair");
      return false;
    }
    const Value key = parts->at(run, 0);
    if (!check_hashable(run, key)) return false;
    dict.set(key, parts->at(run, 1));
  }
  return pairs.has_value();
}

bool fill_dict(Run& run, const Arguments& arguments, Dict& dict) {
  if (arguments.positional.size() > 1) {
    run.fail("expected at most 1 positional argument");
    return false;
  }
  if (!arguments.positional.empty() && !add_pairs(run, arguments.positional[0], dict)) return false;
  for (const Keyword& keyword : arguments.keywords) {
    const Value name = Text{keyword.name};
    if (!check_hashable(run, name)) return false;
    dict.set(name, keyword.value);
  }
  return true;
}

Value global_dict(Run& run, const Value& /*self*/, const Slots& slots) {
  Dict* dict = run.make<Dict>(run.memory());
  if (!fill_dict(run, slots.all(), *dict)) return {};
  return static_cast<const Dict*>(dict);
}

Value global_namespace(Run& run, const Value& /*self*/, const Slots& slots) {
  Dict attributes(run.memory());
  if (!fill_dict(run, slots.all(), attributes)) return {};
  auto* space = run.make<Namespace>(run);
  for (const Dict::Entry& entry : attributes.entries()) {
    const Text* name = entry.key.text();
    if (name != nullptr) space->set(name->view, entry.value);
  }
  return static_cast<Object*>(space);
}

Value global_cycler(Run& run, const Value& /*self*/, const Slots& slots) {
  const auto items = slots.all().positional;
  if (items.empty()) return run.fail("at least one item has to be provided");
  const Value list = run.list(items);
  if (list.list() == nullptr) return {};
  return static_cast<Object*>(run.make<Cycler>(list.list()->items));
}

Value global_joiner(Run& run, const Value& /*self*/, const Slots& slots) {
  return static_cast<Object*>(run.make<Joiner>(slots.get(0, Text{", "})));
}

Value raise_exception(Run& run, const Value& /*self*/, const Slots& slots) {
  return run.fail(to_text(run, slots[0]).view);
}

Value strftime_now(Run& run, const Value& /*self*/, const Slots& slots) {
  const auto format = slots.text(run, 0, {});
  // The bytes for each character of a format: the longest directive has two characters and gives
  // 24 bytes, and a growing text needs twice as much besides.
  constexpr std::size_t kGrowth = std::size_t{3} * 12;
  if (!format || !run.step_read(format->size())) return {};
  if (!run.has_room(format->size() * kGrowth)) return {};
  const auto text = format_time(run.now(), *format);
  if (!text) return run.fail("strftime_now: a directive of the format is not known");
  return run.text(*text);
}

constexpr std::array kGlobals = {
    Builtin{"range", global_range, 1, {"<start>", "<stop>", "<step>"}},
    Builtin{"dict", global_dict, kVariadic, {}},
    Builtin{"namespace", global_namespace, kVariadic, {}},
    Builtin{"cycler", global_cycler, kVariadic, {}},
    Builtin{"joiner", global_joiner, 0, {"sep"}},
    Builtin{"raise_exception", raise_exception, 1, {"message"}},
    Builtin{"strftime_now", strftime_now, 1, {"format"}},
};

}  // namespace

std::span<const Builtin> globals() { return kGlobals; }

}  // namespace weft::jinja
