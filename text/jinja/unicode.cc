#include "weft/text/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace weft::jinja {
namespace {

utf8proc_category_t category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_any_letter(char32_t code_point) {
  const auto kind = category(code_point);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

struct LongMapping {
  char32_t from;
  std::u32string_view upper;
  std::u32string_view title;
};

/// Unicode's SpecialCasing.txt, the unconditional rows of Latin letters: those that become more
/// than one letter.
constexpr std::array kLongMappings = {
    LongMapping{0x00DF, U"SS", U"Ss"},
    LongMapping{0x0149, U"\u02BCN", U"\u02BCN"},
    LongMapping{0x01F0, U"J\u030C", U"J\u030C"},
    LongMapping{0x0390, U"\u0399\u0308\u0301", U"\u0399\u0308\u0301"},
    LongMapping{0x03B0, U"\u03A5\u0308\u0301", U"\u03A5\u0308\u0301"},
    LongMapping{0x0587, U"\u0535\u0552", U"\u0535\u0582"},
    LongMapping{0x1E96, U"H\u0331", U"H\u0331"},
    LongMapping{0x1E97, U"T\u0308", U"T\u0308"},
    LongMapping{0x1E98, U"W\u030A", U"W\u030A"},
    LongMapping{0x1E99, U"Y\u030A", U"Y\u030A"},
    LongMapping{0x1E9A, U"A\u02BE", U"A\u02BE"},
    LongMapping{0xFB00, U"FF", U"Ff"},
    LongMapping{0xFB01, U"FI", U"Fi"},
    LongMapping{0xFB02, U"FL", U"Fl"},
    LongMapping{0xFB03, U"FFI", U"Ffi"},
    LongMapping{0xFB04, U"FFL", U"Ffl"},
    LongMapping{0xFB05, U"ST", U"St"},
    LongMapping{0xFB06, U"ST", U"St"},
};

const LongMapping* long_mapping(char32_t code_point) {
  const auto row = std::ranges::find(kLongMappings, code_point, &LongMapping::from);
  return row == kLongMappings.end() ? nullptr : &*row;
}

void append_all(std::string& out, std::u32string_view code_points) {
  for (const char32_t code_point : code_points) append_utf8(out, code_point);
}

}  // namespace

CodePoint decode(std::string_view text) noexcept {
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x80) return {byte, 1};
  utf8proc_int32_t code_point = -1;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                      static_cast<utf8proc_ssize_t>(text.size()), &code_point);
  if (bytes <= 0) return {0xFFFD, 1};
  return {static_cast<char32_t>(code_point), static_cast<std::uint8_t>(bytes)};
}

CodePoint decode_last(std::string_view text) noexcept {
  std::size_t start = text.size() - 1;
  while (start > 0 && is_continuation(text[start])) --start;
  return decode(text.substr(start));
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    utf8proc_int32_t code_point = -1;
    const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                        static_cast<utf8proc_ssize_t>(text.size()), &code_point);
    if (bytes <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

void append_utf8(std::string& out, char32_t code_point) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

std::size_t length(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

std::size_t byte_offset(std::string_view text, std::size_t index) noexcept {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_continuation(text[at])) continue;
    if (index == 0) return at;
    --index;
  }
  return text.size();
}

bool is_space(char32_t code_point) noexcept {
  if (code_point < 0x80) {
    return code_point == ' ' || (code_point >= 9 && code_point <= 13) ||
           (code_point >= 0x1C && code_point <= 0x1F);
  }
  return code_point == 0x85 || category(code_point) == UTF8PROC_CATEGORY_ZS ||
         code_point == 0x2028 || code_point == 0x2029;
}

bool is_printable(char32_t code_point) noexcept {
  if (code_point < 0x7F) return code_point >= 0x20;
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return false;
    default:
      return true;
  }
}

bool is_alpha(char32_t code_point) noexcept { return is_any_letter(code_point); }

bool is_decimal(char32_t code_point) noexcept {
  return category(code_point) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t code_point) noexcept {
  const bool superscript = code_point == 0xB2 || code_point == 0xB3 || code_point == 0xB9 ||
                           code_point == 0x2070 || (code_point >= 0x2074 && code_point <= 0x2079);
  const bool subscript = code_point >= 0x2080 && code_point <= 0x2089;
  const bool circled = code_point >= 0x2460 && code_point <= 0x2468;
  return superscript || subscript || circled || is_decimal(code_point);
}

bool is_numeric(char32_t code_point) noexcept {
  const auto kind = category(code_point);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_NO;
}

bool is_alnum(char32_t code_point) noexcept {
  return is_any_letter(code_point) || is_numeric(code_point);
}

bool is_upper(char32_t code_point) noexcept {
  return utf8proc_isupper(static_cast<utf8proc_int32_t>(code_point)) != 0;
}

bool is_lower(char32_t code_point) noexcept {
  return utf8proc_islower(static_cast<utf8proc_int32_t>(code_point)) != 0;
}

bool is_cased(char32_t code_point) noexcept {
  return is_upper(code_point) || is_lower(code_point) ||
         category(code_point) == UTF8PROC_CATEGORY_LT;
}

bool is_identifier_part(char32_t code_point) noexcept {
  const auto kind = category(code_point);
  return code_point == '_' || is_alnum(code_point) || kind == UTF8PROC_CATEGORY_MN ||
         kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_PC;
}

bool is_line_end(char32_t code_point) noexcept {
  return (code_point >= 0x0A && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x1E) ||
         code_point == 0x85 || code_point == 0x2028 || code_point == 0x2029;
}

void append_upper(std::string& out, char32_t code_point) {
  if (const auto* row = long_mapping(code_point)) return append_all(out, row->upper);
  append_utf8(out,
              static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code_point))));
}

void append_lower(std::string& out, char32_t code_point) {
  if (code_point == 0x0130) return append_all(out, U"i\u0307");
  append_utf8(out,
              static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point))));
}

void append_title(std::string& out, char32_t code_point) {
  if (const auto* row = long_mapping(code_point)) return append_all(out, row->title);
  append_utf8(out,
              static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code_point))));
}

std::string_view trim_left(std::string_view text) noexcept {
  while (!text.empty()) {
    const CodePoint first = decode(text);
    if (!is_space(first.value)) break;
    text.remove_prefix(first.bytes);
  }
  return text;
}

std::string_view trim_right(std::string_view text) noexcept {
  while (!text.empty()) {
    const CodePoint last = decode_last(text);
    if (!is_space(last.value)) break;
    text.remove_suffix(last.bytes);
  }
  return text;
}

}  // namespace weft::jinja
