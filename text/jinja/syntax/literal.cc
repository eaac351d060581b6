#include "weft/text/jinja/syntax/literal.h"

#include <charconv>

#include "weft/core/text/utf8.h"

namespace weft::jinja {
namespace {

bool is_digit_of(char c, int base) {
  if (base == 16) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }
  return c >= '0' && c < '0' + base;
}

/// Reads digits with single underscores between them, from `at` on; returns their end.
std::size_t skip_digits(std::string_view text, std::size_t at, int base) {
  const auto digit_at = [&](std::size_t i) {
    return i < text.size() && is_digit_of(text[i], base);
  };
  if (!digit_at(at)) return at;
  while (digit_at(at) || (at < text.size() && text[at] == '_' && digit_at(at + 1))) ++at;
  return at;
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

NumberLiteral integer(std::string_view digits, std::size_t bytes, int base) {
  const std::string plain = without_underscores(digits);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value, base);
  if (error != std::errc{}) return {bytes, std::monostate{}};
  return {bytes, value};
}

/// Returns the end of the exponent that starts at `at`; `at` when there is none.
std::size_t skip_exponent(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] | 0x20) != 'e') return at;
  std::size_t digits = at + 1;
  if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
  const std::size_t end = skip_digits(text, digits, 10);
  return end == digits ? at : end;
}

/// Returns the end of the float at the start; 0 when there is none.
std::size_t float_length(std::string_view text) {
  const std::size_t whole = skip_digits(text, 0, 10);
  if (whole == 0) return 0;
  std::size_t end = whole;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = skip_digits(text, end + 1, 10);
    if (fraction != end + 1) end = fraction;
  }
  end = skip_exponent(text, end);
  return end == whole ? 0 : end;
}

int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1] | 0x20) {
    case 'b':
      return 2;
    case 'o':
      return 8;
    case 'x':
      return 16;
    default:
      return 10;
  }
}

struct Escape {
  std::size_t bytes;  ///< after the backslash; 0: the escape is malformed
  char32_t value;
};

Escape hex_escape(std::string_view rest, std::size_t digits) {
  if (rest.size() < 1 + digits) return {0, 0};
  std::uint32_t value = 0;
  const char* end = rest.data() + 1 + digits;
  const auto read = std::from_chars(rest.data() + 1, end, value, 16);
  if (read.ec != std::errc{} || read.ptr != end) return {0, 0};
  if (!is_scalar_value(value)) return {0, 0};
  return {1 + digits, value};
}

Escape octal_escape(std::string_view rest) {
  char32_t value = 0;
  std::size_t at = 0;
  while (at < 3 && at < rest.size() && is_digit_of(rest[at], 8)) {
    value = value * 8 + static_cast<char32_t>(rest[at++] - '0');
  }
  return {at, value};
}

/// Appends the character of the escape after a backslash and returns the escape's bytes; nothing
/// when it is malformed.
std::optional<std::size_t> append_escape(std::string& out, std::string_view rest) {
  constexpr std::string_view kFrom = "\\'\"abfnrtv";
  constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
  const char c = rest.front();
  if (const auto at = kFrom.find(c); at != std::string_view::npos) {
    out += kTo[at];
    return 1;
  }
  if (c == '\n') return 1;
  if (c == 'N') return std::nullopt;
  if (c == 'x' || c == 'u' || c == 'U' || is_digit_of(c, 8)) {
    const Escape escape = is_digit_of(c, 8) ? octal_escape(rest)
                                            : hex_escape(rest, c == 'x'   ? 2
                                                               : c == 'u' ? 4
                                                                          : 8);
    if (escape.bytes == 0) return std::nullopt;
    append_utf8(out, escape.value);
    return escape.bytes;
  }
  out += '\\';
  return 0;
}

}  // namespace

NumberLiteral read_number(std::string_view text, bool after_dot) {
  if (text.empty() || !is_digit_of(text.front(), 10)) return {};
  if (const std::size_t bytes = after_dot ? 0 : float_length(text); bytes != 0) {
    const std::string plain = without_underscores(text.substr(0, bytes));
    double value = 0;
    const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (error == std::errc::result_out_of_range) return {bytes, std::monostate{}};
    return {bytes, value};
  }
  if (const int base = prefix_base(text); base != 10) {
    const std::size_t start = text.size() > 2 && text[2] == '_' ? 3 : 2;
    const std::size_t end = skip_digits(text, start, base);
    if (end != start) return integer(text.substr(start, end - start), end, base);
  }
  std::size_t end = 1;
  if (text.front() == '0') {
    while (end < text.size() && (text[end] == '0' || text.substr(end).starts_with("_0"))) ++end;
  } else {
    end = skip_digits(text, 0, 10);
  }
  return integer(text.substr(0, end), end, 10);
}

std::size_t quoted_length(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == text.front()) return at + 1;
    if (text[at] == '\\') ++at;
  }
  return 0;
}

std::optional<std::string> unescape(std::string_view body) {
  std::string out;
  out.reserve(body.size());
  while (!body.empty()) {
    const std::size_t plain = std::min(body.find('\\'), body.size());
    out.append(body.substr(0, plain));
    body.remove_prefix(plain);
    if (body.empty()) break;
    body.remove_prefix(1);
    if (body.empty()) return std::nullopt;
    const auto bytes = append_escape(out, body);
    if (!bytes) return std::nullopt;
    body.remove_prefix(*bytes);
  }
  return out;
}

}  // namespace weft::jinja
