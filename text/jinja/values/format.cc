#include "weft/text/jinja/values/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "weft/core/text/utf8.h"
#include "weft/text/jinja/values/print.h"

namespace weft::jinja {
namespace {

/// A float has no more digits than this before the point.
constexpr std::size_t kLongestWhole = 310;

struct Padding {
  std::size_t left;
  std::size_t right;
};

Padding padding(const FormatSpec& spec, char own_align, std::size_t size) {
  const std::size_t space = spec.width > size ? spec.width - size : 0;
  switch (spec.align != 0 ? spec.align : own_align) {
    case '<':
      return {0, space};
    case '^':
      return {space / 2, space - space / 2};
    default:
      return {space, 0};
  }
}

void insert_groups(std::string& digits, char separator, std::size_t group) {
  const std::size_t end =
      std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string whole = digits.substr(0, end);
  for (std::size_t at = end; at > group; at -= group) whole.insert(at - group, 1, separator);
  digits.replace(0, end, whole);
}

/// `digits` has no sign.
void append_number(TextBuilder& out, const FormatSpec& spec, bool negative, std::string prefix,
                   std::string digits, std::size_t group = 3) {
  if (spec.grouping != 0) insert_groups(digits, spec.grouping, group);
  if (negative) {
    prefix.insert(0, 1, '-');
  } else if (spec.sign != 0) {
    prefix.insert(0, 1, spec.sign);
  }
  const std::size_t size = prefix.size() + digits.size();
  if (spec.align == '=') {
    out.append(prefix);
    out.append_repeated(spec.width > size ? spec.width - size : 0, spec.fill);
    out.append(digits);
    return;
  }
  const Padding around = padding(spec, '>', size);
  out.append_repeated(around.left, spec.fill);
  out.append(prefix);
  out.append(digits);
  out.append_repeated(around.right, spec.fill);
}

void to_upper(std::string& text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
}

bool append_integer(TextBuilder& out, const FormatSpec& spec, std::int64_t value) {
  int base = 10;
  std::string prefix;
  switch (spec.type) {
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'x':
    case 'X':
      base = 16;
      prefix = "0x";
      break;
    case 'd':
    case 'n':
    case 0:
      break;
    default:
      return false;
  }
  std::array<char, 65> text{};
  const auto size =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const auto end = std::to_chars(text.data(), text.data() + text.size(), size, base).ptr;
  std::string digits(text.data(), end);
  if (!spec.alternate) prefix.clear();
  if (spec.type == 'X') {
    to_upper(digits);
    to_upper(prefix);
  }
  append_number(out, spec, value < 0, std::move(prefix), std::move(digits), base == 10 ? 3 : 4);
  return true;
}

/// Formats a float with a precision in Python's default form: like g, but always with a digit after
/// the point.
std::string general_digits(double size, int precision, bool keep_point) {
  std::string text(kLongestWhole + static_cast<std::size_t>(precision), '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), size,
                                 std::chars_format::general, std::max(precision, 1));
  text.resize(static_cast<std::size_t>(end.ptr - text.data()));
  const bool whole = text.find_first_of(".e") == std::string::npos;
  if (keep_point && whole) text += ".0";
  return text;
}

std::string float_digits(const FormatSpec& spec, double size) {
  const char type = static_cast<char>(spec.type | 0x20);
  if (std::isnan(size)) return "nan";
  if (std::isinf(size)) return "inf";
  if (spec.type == 0 && !spec.precision) return print_float(size);
  const int precision = spec.precision.value_or(6);
  if (spec.type == 0 || type == 'g' || type == 'n') {
    return general_digits(size, precision, spec.type == 0);
  }
  std::string text(kLongestWhole + static_cast<std::size_t>(precision) + 8, '\0');
  const auto format = type == 'e' ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), size, format, precision);
  text.resize(static_cast<std::size_t>(end.ptr - text.data()));
  if (spec.alternate && text.find('.') == std::string::npos) text += '.';
  return text;
}

bool append_float(TextBuilder& out, const FormatSpec& spec, double value) {
  constexpr std::string_view kTypes = "eEfFgGn%";
  if (spec.type != 0 && kTypes.find(spec.type) == std::string_view::npos) return false;
  if (spec.precision.value_or(0) > kMaxPrecision) {
    out.run().fail_limit("more than ", std::to_string(kMaxPrecision), " digits");
    return true;
  }
  FormatSpec plain = spec;
  if (spec.type == '%') {
    value *= 100;
    plain.type = 'f';
  }
  std::string digits = float_digits(plain, std::fabs(value));
  if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') to_upper(digits);
  if (spec.type == '%') digits += '%';
  append_number(out, spec, std::signbit(value) && !std::isnan(value), {}, std::move(digits));
  return true;
}

}  // namespace

void format_text(TextBuilder& out, const FormatSpec& spec, std::string_view text) {
  if (spec.precision) {
    text = text.substr(0, code_point_offset(text, static_cast<std::size_t>(*spec.precision)));
  }
  const Padding around = padding(spec, '<', count_code_points(text));
  out.append_repeated(around.left, spec.fill);
  out.append(text);
  out.append_repeated(around.right, spec.fill);
}

bool format_number(TextBuilder& out, const FormatSpec& spec, const Value& number) {
  const auto integer = number.integer();
  if (!integer) return append_float(out, spec, *number.real());
  if (spec.type == 'c') {
    if (!is_scalar_value(static_cast<std::uint64_t>(*integer))) return false;
    std::string character;
    append_utf8(character, static_cast<char32_t>(*integer));
    format_text(out, spec, character);
    return true;
  }
  constexpr std::string_view kFloatTypes = "eEfFgG%";
  if (spec.type != 0 && kFloatTypes.find(spec.type) != std::string_view::npos) {
    return append_float(out, spec, static_cast<double>(*integer));
  }
  return !spec.precision && append_integer(out, spec, *integer);
}

}  // namespace weft::jinja
