#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "weft/text/jinja/builtins.h"
#include "weft/text/jinja/python_characters.h"
#include "weft/text/jinja/values/arithmetic.h"
#include "weft/text/jinja/values/object.h"

/// Filters that give numbers.
namespace weft::jinja {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<double> read_float(Run& run, std::string_view text) {
  text = trim_right(trim_left(text));
  const auto digit_at = [&](std::size_t at) {
    return at < text.size() && is_ascii_digit(text[at]);
  };
  for (std::size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    if (at == 0 || !digit_at(at - 1) || !digit_at(at + 1)) return std::nullopt;
  }
  std::pmr::string plain(text, run.scratch());
  std::erase(plain, '_');
  const bool plus = plain.starts_with('+');
  const char* begin = plain.data() + (plus ? 1 : 0);
  const char* end = plain.data() + plain.size();
  if (begin == end || (plus && *begin == '-') || plain.find('(') != std::string::npos) {
    return std::nullopt;
  }
  double value = 0;
  const auto read = std::from_chars(begin, end, value);
  if (read.ptr != end) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    // Python returns infinity or zero.
    const bool small =
        plain.find("e-") != std::string::npos || plain.find("E-") != std::string::npos;
    value = small ? 0.0 : std::numeric_limits<double>::infinity();
    return plain.starts_with('-') ? -value : value;
  }
  return read.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

/// Removes 0x, 0o and 0b where the base allows it; returns the base that they mean.
std::int64_t take_prefix(std::pmr::string& digits, std::int64_t base) {
  constexpr std::array<std::pair<char, std::int64_t>, 3> kPrefixes = {
      {{'x', 16}, {'o', 8}, {'b', 2}}};
  for (const auto& [letter, own] : kPrefixes) {
    const bool there = digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == letter;
    if (there && (base == 0 || base == own)) {
      digits.erase(0, digits[2] == '_' ? 3 : 2);
      return own;
    }
  }
  return base == 0 ? 10 : base;
}

/// int(text, base): nothing when Python raises ValueError. A number beyond 64 bits fails the run.
std::optional<std::int64_t> read_int(Run& run, std::string_view text, std::int64_t base) {
  std::pmr::string digits(trim_right(trim_left(text)), run.scratch());
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  base = take_prefix(digits, base);
  const bool misplaced =
      digits.starts_with('_') || digits.ends_with('_') || digits.find("__") != std::string::npos;
  std::erase(digits, '_');
  if (digits.empty() || misplaced || !(is_alnum(static_cast<unsigned char>(digits.front())))) {
    return std::nullopt;
  }
  if (negative) digits.insert(0, 1, '-');
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value, static_cast<int>(base));
  if (read.ptr != end) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    run.fail("the integer does not fit into 64 bits");
    return 0;
  }
  return read.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

/// int(float): nothing for NaN, fails beyond 64 bits.
std::optional<std::int64_t> truncate(Run& run, double value) {
  // 2^63, the first double that an int64 cannot hold.
  constexpr double kLimit = 9223372036854775808.0;
  if (std::isnan(value)) return std::nullopt;
  if (std::fabs(value) < kLimit) return static_cast<std::int64_t>(value);
  run.fail("the integer does not fit into 64 bits");
  return 0;
}

Value filter_int(Run& run, const Value& self, const Slots& slots) {
  const Value fallback = slots.get(0, std::int64_t{0});
  const auto base = slots.integer(run, 1, 10);
  if (!base) return {};
  if (*base != 0 && (*base < 2 || *base > 36)) return fallback;
  if (const Undefined* undefined = self.undefined()) {
    return run.fail(undefined_message(*undefined));
  }
  std::optional<std::int64_t> value = self.integer();
  if (const Text* text = self.text()) {
    if (!run.step_read(text->view.size())) return {};
    value = read_int(run, text->view, *base);
    // "42.23"|int is 42. For infinity, Jinja returns the default.
    const auto number = value ? std::nullopt : read_float(run, text->view);
    if (number && !std::isinf(*number)) value = truncate(run, *number);
  } else if (const double* number = self.real()) {
    value = truncate(run, *number);
  }
  return value ? Value(*value) : fallback;
}

Value filter_float(Run& run, const Value& self, const Slots& slots) {
  if (const Undefined* undefined = self.undefined()) {
    return run.fail(undefined_message(*undefined));
  }
  std::optional<double> value = self.number();
  if (const Text* text = self.text()) {
    if (!run.step_read(text->view.size())) return {};
    value = read_float(run, text->view);
  }
  return value ? Value(*value) : slots.get(0, 0.0);
}

Value filter_abs(Run& run, const Value& self, const Slots& /*slots*/) {
  if (const double* number = self.real()) return std::fabs(*number);
  const auto integer = self.integer();
  if (!integer) return run.fail("bad operand type for abs(): '", type_name(self), "'");
  return apply_sign(run, *integer < 0, *integer);
}

Value round_whole(Run& run, std::int64_t value, std::int64_t digits) {
  if (digits >= 0) return value;
  const double rounded = round_to(static_cast<double>(value), digits);
  const auto whole = truncate(run, rounded);
  return whole ? Value(*whole) : Value();
}

Value filter_round(Run& run, const Value& self, const Slots& slots) {
  const auto digits = slots.integer(run, 0, 0);
  const auto method = slots.text(run, 1, "common");
  const auto number = self.number();
  if (!digits || !method) return {};
  if (*method != "common" && *method != "ceil" && *method != "floor") {
    return run.fail("method must be common, ceil or floor");
  }
  if (!number) return run.fail("type ", type_name(self), " cannot be rounded");
  if (*method == "common") {
    if (const auto integer = self.integer()) return round_whole(run, *integer, *digits);
    return round_to(*number, *digits);
  }
  const double unit = std::pow(10.0, static_cast<double>(*digits));
  if (!std::isfinite(*number * unit)) return run.fail("the number cannot be rounded");
  return (*method == "ceil" ? std::ceil(*number * unit) : std::floor(*number * unit)) / unit;
}

constexpr std::array kNumberFilters = {
    Builtin{"int", filter_int, 0, {"default", "base"}},
    Builtin{"float", filter_float, 0, {"default"}},
    Builtin{"abs", filter_abs, 0, {}},
    Builtin{"round", filter_round, 0, {"precision", "method"}},
};

}  // namespace

std::span<const Builtin> number_filters() { return kNumberFilters; }

}  // namespace weft::jinja
