#include "weft/text/unicode/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "weft/core/text/utf8.h"

namespace weft {
namespace {

utf8proc_category_t category(char32_t code) noexcept {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool between(utf8proc_category_t value, utf8proc_category_t first,
             utf8proc_category_t last) noexcept {
  return value >= first && value <= last;
}

struct LongMapping {
  char32_t from;
  std::u32string_view upper;
  std::u32string_view title;
};

/// The unconditional rows of Latin letters in Unicode's SpecialCasing.txt: letters that become
/// several letters.
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

const LongMapping* long_mapping(char32_t code) {
  const auto row = std::ranges::find(kLongMappings, code, &LongMapping::from);
  return row == kLongMappings.end() ? nullptr : &*row;
}

void append_all(std::string& out, std::u32string_view codes) {
  for (const char32_t code : codes) append_utf8(out, code);
}

}  // namespace

bool is_assigned(char32_t code) noexcept { return category(code) != UTF8PROC_CATEGORY_CN; }

bool is_letter(char32_t code) noexcept {
  return between(category(code), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool is_number(char32_t code) noexcept {
  return between(category(code), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_mark(char32_t code) noexcept {
  return between(category(code), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool is_punctuation(char32_t code) noexcept {
  return between(category(code), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_symbol(char32_t code) noexcept {
  return between(category(code), UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO);
}

bool is_separator(char32_t code) noexcept {
  return between(category(code), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool is_nonspacing_mark(char32_t code) noexcept { return category(code) == UTF8PROC_CATEGORY_MN; }

bool is_enclosing_mark(char32_t code) noexcept { return category(code) == UTF8PROC_CATEGORY_ME; }

bool is_decimal_digit(char32_t code) noexcept { return category(code) == UTF8PROC_CATEGORY_ND; }

bool is_connector(char32_t code) noexcept { return category(code) == UTF8PROC_CATEGORY_PC; }

bool is_title_case(char32_t code) noexcept { return category(code) == UTF8PROC_CATEGORY_LT; }

bool is_upper_case(char32_t code) noexcept {
  return utf8proc_isupper(static_cast<utf8proc_int32_t>(code)) != 0;
}

bool is_lower_case(char32_t code) noexcept {
  return utf8proc_islower(static_cast<utf8proc_int32_t>(code)) != 0;
}

bool is_control(char32_t code) noexcept {
  return between(category(code), UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool is_word(char32_t code) noexcept {
  if (code < 0x80) {
    return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
           (code >= 'A' && code <= 'Z') || code == '_';
  }
  const utf8proc_category_t value = category(code);
  return between(value, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
         value == UTF8PROC_CATEGORY_PC || code == 0x200C || code == 0x200D ||
         (code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
         (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
}

void append_lower_case_beyond_ascii(std::string& out, char32_t code) {
  constexpr char32_t kDottedCapitalI = 0x130;  // the only character whose lower case has two
                                               // characters
  if (code == kDottedCapitalI) {
    out.append("i\xCC\x87");
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
  }
}

void append_upper_case(std::string& out, char32_t code) {
  if (const auto* row = long_mapping(code)) return append_all(out, row->upper);
  append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
}

void append_title_case(std::string& out, char32_t code) {
  if (const auto* row = long_mapping(code)) return append_all(out, row->title);
  append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code))));
}

}  // namespace weft
