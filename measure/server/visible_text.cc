#include "weft/measure/server/visible_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "weft/core/text/utf8.h"

namespace weft::measure {
namespace {

bool is_shown(char32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  // XML does not allow these two characters.
  return code != 0xFFFE && code != 0xFFFF;
}

template <class Do>
void each_character(std::string_view text, Do act) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char character = utf8_at(text, at);
    act(character.code);
    at += character.length;
  }
}

}  // namespace

std::string visible(std::string_view text) {
  std::string shown;
  each_character(lossy_utf8(text), [&shown](char32_t code) {
    const bool blank = code == '\n' || code == '\r' || code == '\t';
    if (!blank && !is_shown(code)) code = kReplacementCharacter;
    append_utf8(shown, blank ? U' ' : code);
  });
  return shown;
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char letter : visible(text)) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  each_character(text, [&columns](char32_t code) {
    columns += static_cast<std::size_t>(
        std::max(utf8proc_charwidth(static_cast<utf8proc_int32_t>(code)), 0));
  });
  return columns;
}

}  // namespace weft::measure
