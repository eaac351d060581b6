#include "weft/text/jinja/run/loop.h"

#include <array>
#include <string>

#include "weft/text/jinja/run/interpreter.h"
#include "weft/text/jinja/values/compare.h"

namespace weft::jinja {
namespace {

Loop& loop_of(const Value& self) { return static_cast<Loop&>(*self.object()); }

Value loop_cycle(Run& run, const Value& self, const Slots& slots) {
  return loop_of(self).cycle(run, slots.all().positional);
}

Value loop_changed(Run& run, const Value& self, const Slots& slots) {
  return loop_of(self).changed(run, slots.all().positional);
}

constexpr std::array kLoopMethods = {
    Builtin{"cycle", loop_cycle, kVariadic, {}},
    Builtin{"changed", loop_changed, kVariadic, {}},
};

}  // namespace

std::optional<Value> Loop::fetch(Run& run) {
  while (run.step()) {
    auto element = source_->next(run);
    if (!element || filtered_ || !node_.filter) return element;
    if (interpreter_.passes(node_, outer_, *element)) return element;
  }
  return std::nullopt;
}

const std::optional<Value>& Loop::peek(Run& run) {
  if (!peeked_) after_ = fetch(run);
  peeked_ = true;
  return after_;
}

std::optional<Value> Loop::advance(Run& run) {
  std::optional<Value> element = peek(run);
  peeked_ = false;
  if (!element || run.failed()) return std::nullopt;
  ++index_;
  before_ = current_;
  current_ = element;
  return element;
}

/// When the number is unknown, the rest is fetched now.
std::int64_t Loop::count(Run& run) {
  if (count_) return *count_;
  const std::int64_t seen = index_ + 1 + (peeked_ && after_ ? 1 : 0);
  ListBuilder rest(run);
  for (auto element = fetch(run); element; element = fetch(run)) {
    if (!rest.push(*element)) break;
  }
  const Value list = rest.finish();
  if (list.list() == nullptr) return 0;
  source_ = run.make<ItemsIterator>(Items(list.list()->items));
  filtered_ = true;
  count_ = seen + static_cast<std::int64_t>(rest.size());
  return *count_;
}

std::optional<Value> Loop::position(Run& run, std::string_view name) {
  if (name == "index") return index_ + 1;
  if (name == "index0") return index_;
  if (name == "depth") return depth_ + 1;
  if (name == "depth0") return depth_;
  if (name == "first") return index_ == 0;
  if (name == "last") return !peek(run).has_value();
  if (name == "length") return count(run);
  if (name == "revindex") return count(run) - index_;
  if (name == "revindex0") return count(run) - index_ - 1;
  return std::nullopt;
}

std::optional<Value> Loop::attribute(Run& run, std::string_view name) {
  if (auto value = position(run, name)) return value;
  if (name == "previtem") {
    return index_ == 0 ? Undefined{"there is no previous item"} : before_.value_or(Value());
  }
  if (name == "nextitem") return peek(run).value_or(Undefined{"there is no next item"});
  for (const Builtin& method : kLoopMethods) {
    if (method.name == name) {
      Object* self = this;
      return Value(static_cast<Object*>(run.make<BoundBuiltin>(method, Value(self))));
    }
  }
  return std::nullopt;
}

Value Loop::call(Run& run, const Arguments& arguments) {
  if (!node_.recursive) {
    return run.fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
    return run.fail("a loop is called with one argument");
  }
  return interpreter_.call_loop(node_, outer_, arguments.positional[0], depth_ + 1);
}

Value Loop::cycle(Run& run, std::span<const Value> values) const {
  if (values.empty()) return run.fail("no items for cycling given");
  return values[static_cast<std::size_t>(index_) % values.size()];
}

Value Loop::changed(Run& run, std::span<const Value> values) {
  const Value now = run.list(values, List::Type::kTuple);
  if (last_changed_ && equal(run, *last_changed_, now)) return false;
  last_changed_ = now;
  return true;
}

}  // namespace weft::jinja
