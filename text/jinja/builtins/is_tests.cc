#include <array>
#include <string>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/values/arithmetic.h"
#include "weft/text/jinja/values/compare.h"
#include "weft/text/jinja/values/items.h"
#include "weft/text/jinja/values/object.h"
#include "weft/text/jinja/values/print.h"
#include "weft/text/jinja/values/text_ops.h"
#include "weft/text/unicode/unicode.h"

/// The tests that may follow "is".
namespace weft::jinja {
namespace {

template <Kind Wanted>
Value is_kind(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return self.kind() == Wanted;
}

Value is_defined(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return !self.is_undefined();
}

Value test_number(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return self.number().has_value();
}

template <bool Wanted>
Value is_bool(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return self.boolean() != nullptr && *self.boolean() == Wanted;
}

/// Whether the value has a length and elements by number or key. Python finds both in an undefined
/// value.
Value is_sequence(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  switch (self.kind()) {
    case Kind::kUndefined:
    case Kind::kText:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kRange:
      return true;
    default:
      return false;
  }
}

Value is_iterable(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return Items::exist(self);
}

/// Whether the value can be called. Python finds a __call__ in an undefined value, too.
Value is_callable(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return self.is_undefined() || (self.object() != nullptr && self.object()->callable());
}

Value is_escaped(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return self.text() != nullptr && self.text()->markup;
}

Value rest_is(Run& run, const Value& self, const Value& divisor, std::int64_t wanted) {
  return equal(run, arithmetic(run, ast::ArithmeticOp::kMod, self, divisor), wanted);
}

Value is_odd(Run& run, const Value& self, const Slots& /*slots*/) {
  return rest_is(run, self, std::int64_t{2}, 1);
}

Value is_even(Run& run, const Value& self, const Slots& /*slots*/) {
  return rest_is(run, self, std::int64_t{2}, 0);
}

Value is_divisible_by(Run& run, const Value& self, const Slots& slots) {
  return rest_is(run, self, slots[0], 0);
}

Value is_lower_text(Run& run, const Value& self, const Slots& /*slots*/) {
  return all_cased_are(run, to_text(run, self).view, is_lower_case);
}

Value is_upper_text(Run& run, const Value& self, const Slots& /*slots*/) {
  return all_cased_are(run, to_text(run, self).view, is_upper_case);
}

Value is_filter(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return self.text() != nullptr && find_filter(self.text()->view) != nullptr;
}

Value is_test(Run& /*run*/, const Value& self, const Slots& /*slots*/) {
  return self.text() != nullptr && find_test(self.text()->view) != nullptr;
}

Value is_equal(Run& run, const Value& self, const Slots& slots) {
  return equal(run, self, slots[0]);
}

Value is_not_equal(Run& run, const Value& self, const Slots& slots) {
  return !equal(run, self, slots[0]);
}

Value is_less(Run& run, const Value& self, const Slots& slots) { return less(run, self, slots[0]); }

Value is_less_equal(Run& run, const Value& self, const Slots& slots) {
  return less_equal(run, self, slots[0]);
}

Value is_greater(Run& run, const Value& self, const Slots& slots) {
  return less(run, slots[0], self);
}

Value is_greater_equal(Run& run, const Value& self, const Slots& slots) {
  return less_equal(run, slots[0], self);
}

Value is_in(Run& run, const Value& self, const Slots& slots) {
  return contains(run, slots[0], self);
}

/// Python's "is", for values where the result does not depend on their address.
Value is_same_as(Run& run, const Value& self, const Slots& slots) {
  return self.kind() == slots[0].kind() && equal(run, self, slots[0]);
}

constexpr std::array kTests = {
    Builtin{"defined", is_defined, 0, {}},
    Builtin{"undefined", is_kind<Kind::kUndefined>, 0, {}},
    Builtin{"none", is_kind<Kind::kNone>, 0, {}},
    Builtin{"string", is_kind<Kind::kText>, 0, {}},
    Builtin{"mapping", is_kind<Kind::kDict>, 0, {}},
    Builtin{"boolean", is_kind<Kind::kBool>, 0, {}},
    Builtin{"integer", is_kind<Kind::kInteger>, 0, {}},
    Builtin{"float", is_kind<Kind::kFloat>, 0, {}},
    Builtin{"number", test_number, 0, {}},
    Builtin{"true", is_bool<true>, 0, {}},
    Builtin{"false", is_bool<false>, 0, {}},
    Builtin{"sequence", is_sequence, 0, {}},
    Builtin{"iterable", is_iterable, 0, {}},
    Builtin{"callable", is_callable, 0, {}},
    Builtin{"escaped", is_escaped, 0, {}},
    Builtin{"odd", is_odd, 0, {}},
    Builtin{"even", is_even, 0, {}},
    Builtin{"divisibleby", is_divisible_by, 1, {"num"}},
    Builtin{"lower", is_lower_text, 0, {}},
    Builtin{"upper", is_upper_text, 0, {}},
    Builtin{"filter", is_filter, 0, {}},
    Builtin{"test", is_test, 0, {}},
    Builtin{"sameas", is_same_as, 1, {"other"}},
    Builtin{"in", is_in, 1, {"seq"}},
    Builtin{"==", is_equal, 1, {"other"}},
    Builtin{"eq", is_equal, 1, {"other"}},
    Builtin{"equalto", is_equal, 1, {"other"}},
    Builtin{"!=", is_not_equal, 1, {"other"}},
    Builtin{"ne", is_not_equal, 1, {"other"}},
    Builtin{"<", is_less, 1, {"other"}},
    Builtin{"lt", is_less, 1, {"other"}},
    Builtin{"lessthan", is_less, 1, {"other"}},
    Builtin{"<=", is_less_equal, 1, {"other"}},
    Builtin{"le", is_less_equal, 1, {"other"}},
    Builtin{">", is_greater, 1, {"other"}},
    Builtin{"gt", is_greater, 1, {"other"}},
    Builtin{"greaterthan", is_greater, 1, {"other"}},
    Builtin{">=", is_greater_equal, 1, {"other"}},
    Builtin{"ge", is_greater_equal, 1, {"other"}},
};

}  // namespace

std::span<const Builtin> tests() { return kTests; }

}  // namespace weft::jinja
