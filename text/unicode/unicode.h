#pragma once

#include <string>

/// Properties of code points by the Unicode Standard. Everything here is thread-safe.
namespace weft {

/// Whether `code` has the property White_Space.
[[nodiscard]] inline bool is_white_space(char32_t code) noexcept {
  if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13);
  if (code < 0x1680) return code == 0x85 || code == 0xA0;
  return code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

/// Classes of code points by their general category.
[[nodiscard]] bool is_assigned(char32_t code) noexcept;         ///< all but Cn
[[nodiscard]] bool is_letter(char32_t code) noexcept;           ///< L*
[[nodiscard]] bool is_number(char32_t code) noexcept;           ///< N*
[[nodiscard]] bool is_mark(char32_t code) noexcept;             ///< M*
[[nodiscard]] bool is_punctuation(char32_t code) noexcept;      ///< P*
[[nodiscard]] bool is_symbol(char32_t code) noexcept;           ///< S*
[[nodiscard]] bool is_separator(char32_t code) noexcept;        ///< Z*
[[nodiscard]] bool is_nonspacing_mark(char32_t code) noexcept;  ///< Mn
[[nodiscard]] bool is_enclosing_mark(char32_t code) noexcept;   ///< Me
[[nodiscard]] bool is_decimal_digit(char32_t code) noexcept;    ///< Nd
[[nodiscard]] bool is_connector(char32_t code) noexcept;        ///< Pc
[[nodiscard]] bool is_title_case(char32_t code) noexcept;       ///< Lt, like U+01C5
/// Cc, Cf, Cs and Co: "other" that is assigned.
[[nodiscard]] bool is_control(char32_t code) noexcept;
/// Whether another case maps to `code`; false for title case letters.
[[nodiscard]] bool is_upper_case(char32_t code) noexcept;
[[nodiscard]] bool is_lower_case(char32_t code) noexcept;
/// The \w of regular expressions: letters, marks, decimal digits, connectors, joiners.
[[nodiscard]] bool is_word(char32_t code) noexcept;

/// Appends `code` in lower case, which is at most two code points long.
void append_lower_case_beyond_ascii(std::string& out, char32_t code);
inline void append_lower_case(std::string& out, char32_t code) {
  if (code >= 0x80) return append_lower_case_beyond_ascii(out, code);
  const bool upper = code >= 'A' && code <= 'Z';
  out.push_back(static_cast<char>(upper ? code + ('a' - 'A') : code));
}

/// Appends `code` in upper or title case; some become two or three code points ("ß" is "SS").
void append_upper_case(std::string& out, char32_t code);
void append_title_case(std::string& out, char32_t code);

}  // namespace weft
