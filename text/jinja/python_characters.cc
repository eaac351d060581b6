#include "weft/text/jinja/python_characters.h"

#include "weft/core/text/utf8.h"

namespace weft::jinja {

bool is_space(char32_t code) noexcept {
  return is_white_space(code) || (code >= 0x1C && code <= 0x1F);
}

bool is_printable(char32_t code) noexcept {
  if (code < 0x7F) return code >= 0x20;
  return is_assigned(code) && !is_control(code) && !is_separator(code);
}

bool is_digit(char32_t code) noexcept {
  const bool superscript = code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 ||
                           (code >= 0x2074 && code <= 0x2079);
  const bool subscript = code >= 0x2080 && code <= 0x2089;
  const bool circled = code >= 0x2460 && code <= 0x2468;
  return superscript || subscript || circled || is_decimal_digit(code);
}

bool is_alnum(char32_t code) noexcept { return is_letter(code) || is_number(code); }

bool is_cased(char32_t code) noexcept {
  return is_upper_case(code) || is_lower_case(code) || is_title_case(code);
}

bool is_identifier_part(char32_t code) noexcept {
  return is_alnum(code) || is_connector(code) || (is_mark(code) && !is_enclosing_mark(code));
}

bool is_line_end(char32_t code) noexcept {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

std::string_view trim_left(std::string_view text) noexcept {
  while (!text.empty()) {
    const Utf8Char first = utf8_at(text);
    if (!is_space(first.code)) break;
    text.remove_prefix(first.length);
  }
  return text;
}

std::string_view trim_right(std::string_view text) noexcept {
  while (!text.empty()) {
    const Utf8Char last = last_utf8(text);
    if (!is_space(last.code)) break;
    text.remove_suffix(last.length);
  }
  return text;
}

}  // namespace weft::jinja
