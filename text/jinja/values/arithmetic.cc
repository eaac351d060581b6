#include "weft/text/jinja/values/arithmetic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "weft/text/jinja/values/format.h"
#include "weft/text/jinja/values/markup.h"
#include "weft/text/jinja/values/object.h"

namespace weft::jinja {
namespace {

using Op = ast::ArithmeticOp;

std::string_view symbol(Op op) {
  constexpr std::array<std::string_view, 7> kSymbols = {"+",  "-", "*",          "/",
                                                        "//", "%", "** or pow()"};
  return kSymbols[static_cast<std::size_t>(op)];
}

Value unsupported(Run& run, Op op, const Value& left, const Value& right) {
  for (const Value* side : {&left, &right}) {
    if (const Undefined* undefined = side->undefined()) {
      return run.fail(undefined_message(*undefined));
    }
  }
  return run.fail("unsupported operand type(s) for ", symbol(op), ": '", type_name(left), "' and '",
                  type_name(right), "'");
}

Value out_of_range(Run& run) { return run.fail("the integer does not fit into 64 bits"); }

Value whole_power(Run& run, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  bool overflow = false;
  while (exponent > 0) {
    if ((exponent & 1) != 0) {
      if (overflow || __builtin_mul_overflow(result, base, &result)) return out_of_range(run);
    }
    exponent >>= 1;
    if (exponent > 0) overflow = overflow || __builtin_mul_overflow(base, base, &base);
  }
  return result;
}

Value whole(Run& run, Op op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      if (__builtin_add_overflow(left, right, &result)) return out_of_range(run);
      return result;
    case Op::kSub:
      if (__builtin_sub_overflow(left, right, &result)) return out_of_range(run);
      return result;
    case Op::kMul:
      if (__builtin_mul_overflow(left, right, &result)) return out_of_range(run);
      return result;
    case Op::kPow:
      if (right >= 0) return whole_power(run, left, right);
      if (left == 0) return run.fail("0.0 cannot be raised to a negative power");
      return std::pow(static_cast<double>(left), static_cast<double>(right));
    default:
      break;
  }
  if (right == 0) return run.fail("division by zero");
  if (op == Op::kDiv) return static_cast<double>(left) / static_cast<double>(right);
  if (right == -1) {
    if (op == Op::kMod) return std::int64_t{0};
    return whole(run, Op::kSub, 0, left);
  }
  const std::int64_t rest = left % right;
  const bool down = rest != 0 && (rest < 0) != (right < 0);
  if (op == Op::kMod) return down ? rest + right : rest;
  return left / right - (down ? 1 : 0);
}

double real_modulo(double left, double right) {
  const double rest = std::fmod(left, right);
  if (rest == 0) return std::copysign(0.0, right);
  return (rest < 0) != (right < 0) ? rest + right : rest;
}

/// CPython's float_floor_div. It is exact where left / right would round up to the next whole
/// number.
double real_floor_div(double left, double right) {
  const double quotient = (left - real_modulo(left, right)) / right;
  if (quotient == 0) return std::copysign(0.0, left / right);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value real_power(Run& run, double left, double right) {
  if (left == 0 && right < 0) return run.fail("0.0 cannot be raised to a negative power");
  const double result = std::pow(left, right);
  if (std::isnan(result) && !std::isnan(left) && !std::isnan(right)) {
    return run.fail("the power is a complex number");
  }
  if (std::isinf(result) && std::isfinite(left) && std::isfinite(right)) {
    return run.fail("the power is out of range");
  }
  return result;
}

Value real(Run& run, Op op, double left, double right) {
  switch (op) {
    case Op::kAdd:
      return left + right;
    case Op::kSub:
      return left - right;
    case Op::kMul:
      return left * right;
    case Op::kPow:
      return real_power(run, left, right);
    default:
      break;
  }
  if (right == 0) return run.fail("float division by zero");
  if (op == Op::kDiv) return left / right;
  return op == Op::kMod ? real_modulo(left, right) : real_floor_div(left, right);
}

Value joined_text(Run& run, const Text& left, const Text& right) {
  TextBuilder out(run);
  const bool markup = left.markup || right.markup;
  append_text(out, left, markup);
  append_text(out, right, markup);
  return out.finish(markup);
}

Value joined_list(Run& run, const List& left, const List& right) {
  ListBuilder out(run);
  for (const List* side : {&left, &right}) {
    for (const Value& item : side->items) {
      if (!out.push(item)) return {};
    }
  }
  return out.finish(left.is_tuple() ? List::Type::kTuple : List::Type::kList);
}

Value repeated(Run& run, const Value& what, std::int64_t times) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  if (const Text* text = what.text()) {
    TextBuilder out(run);
    out.append_repeated(count, text->view);
    return out.finish(text->markup);
  }
  const List& list = *what.list();
  ListBuilder out(run);
  for (std::size_t at = 0; at < count && !list.items.empty(); ++at) {
    for (const Value& item : list.items) {
      if (!out.push(item)) return {};
    }
  }
  return out.finish(list.is_tuple() ? List::Type::kTuple : List::Type::kList);
}

bool is_repeatable(const Value& value) {
  return value.kind() == Kind::kText || value.kind() == Kind::kList;
}

}  // namespace

Value arithmetic(Run& run, Op op, const Value& left, const Value& right) {
  const auto left_whole = left.integer();
  const auto right_whole = right.integer();
  if (left_whole && right_whole) return whole(run, op, *left_whole, *right_whole);
  const auto left_number = left.number();
  const auto right_number = right.number();
  if (left_number && right_number) return real(run, op, *left_number, *right_number);
  if (op == Op::kAdd && left.text() != nullptr && right.text() != nullptr) {
    return joined_text(run, *left.text(), *right.text());
  }
  const bool lists = left.list() != nullptr && right.list() != nullptr &&
                     left.list()->is_tuple() == right.list()->is_tuple();
  if (op == Op::kAdd && lists) return joined_list(run, *left.list(), *right.list());
  if (op == Op::kMul && is_repeatable(left) && right_whole) {
    return repeated(run, left, *right_whole);
  }
  if (op == Op::kMul && left_whole && is_repeatable(right)) {
    return repeated(run, right, *left_whole);
  }
  if (op == Op::kMod && left.text() != nullptr) {
    return format_percent(run, *left.text(), right);
  }
  return unsupported(run, op, left, right);
}

Value apply_sign(Run& run, bool negative, const Value& value) {
  if (const auto integer = value.integer()) {
    return negative ? whole(run, Op::kSub, 0, *integer) : Value(*integer);
  }
  if (const double* number = value.real()) return negative ? -*number : *number;
  if (const Undefined* undefined = value.undefined()) {
    return run.fail(undefined_message(*undefined));
  }
  return run.fail("bad operand type for unary ", negative ? "-" : "+", ": '", type_name(value),
                  "'");
}

double round_to(double value, std::int64_t digits) {
  // With more digits no digit changes, or no digit is left (DBL_DIG and the range of doubles).
  constexpr std::int64_t kMostDigits = 323;
  constexpr std::int64_t kLeastDigits = -308;
  if (!std::isfinite(value) || digits > kMostDigits) return value;
  if (digits < kLeastDigits) return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  std::array<char, 1024> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, static_cast<int>(digits));
  double rounded = value;
  std::from_chars(text.data(), end.ptr, rounded);
  return rounded;
}

}  // namespace weft::jinja
