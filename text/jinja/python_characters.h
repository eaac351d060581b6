#pragma once

#include <string_view>

#include "weft/text/unicode/unicode.h"

/// Python's str rules for characters, where they differ from those of text/unicode. All text
/// in the template engine is valid UTF-8: it is checked on entry. Everything here is
/// thread-safe.
namespace weft::jinja {

/// Each returns the result of the same method of a Python str of that one character.
[[nodiscard]] bool is_space(char32_t code) noexcept;
[[nodiscard]] bool is_printable(char32_t code) noexcept;
[[nodiscard]] bool is_digit(char32_t code) noexcept;
[[nodiscard]] bool is_alnum(char32_t code) noexcept;
/// Whether `code` has a case. Title case letters do, but are neither upper nor lower case.
[[nodiscard]] bool is_cased(char32_t code) noexcept;
/// Whether a template's name may have `code` in it.
[[nodiscard]] bool is_identifier_part(char32_t code) noexcept;
/// Whether str.splitlines() splits at `code` ("\r\n" counts as one end).
[[nodiscard]] bool is_line_end(char32_t code) noexcept;

[[nodiscard]] std::string_view trim_left(std::string_view text) noexcept;
[[nodiscard]] std::string_view trim_right(std::string_view text) noexcept;

}  // namespace weft::jinja
