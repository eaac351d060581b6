#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Code points of UTF-8 text and what Python's str says about them. All text in the template engine
/// is valid UTF-8: it is checked where it comes in. Everything here is thread-safe.
namespace weft::jinja {

/// Whether a byte is not the first of its character.
[[nodiscard]] constexpr bool is_continuation(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

struct CodePoint {
  char32_t value;
  std::uint8_t bytes;
};

/// The first code point of `text`, which is not empty and valid.
[[nodiscard]] CodePoint decode(std::string_view text) noexcept;
/// The last one.
[[nodiscard]] CodePoint decode_last(std::string_view text) noexcept;
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
void append_utf8(std::string& out, char32_t code_point);

/// Number of code points.
[[nodiscard]] std::size_t length(std::string_view text) noexcept;
/// The byte at which code point number `index` begins; text.size() when there are fewer.
[[nodiscard]] std::size_t byte_offset(std::string_view text, std::size_t index) noexcept;

/// Like the methods of a Python str of that one character.
[[nodiscard]] bool is_space(char32_t code_point) noexcept;
[[nodiscard]] bool is_printable(char32_t code_point) noexcept;
[[nodiscard]] bool is_alpha(char32_t code_point) noexcept;
[[nodiscard]] bool is_decimal(char32_t code_point) noexcept;
[[nodiscard]] bool is_digit(char32_t code_point) noexcept;
[[nodiscard]] bool is_numeric(char32_t code_point) noexcept;
[[nodiscard]] bool is_alnum(char32_t code_point) noexcept;
[[nodiscard]] bool is_upper(char32_t code_point) noexcept;
[[nodiscard]] bool is_lower(char32_t code_point) noexcept;
/// Title case letters (U+01C5) count as cased and are neither upper nor lower.
[[nodiscard]] bool is_cased(char32_t code_point) noexcept;
/// What may stand inside a name of a template.
[[nodiscard]] bool is_identifier_part(char32_t code_point) noexcept;
/// What str.splitlines() splits at ("\r\n" counts as one end).
[[nodiscard]] bool is_line_end(char32_t code_point) noexcept;

/// Appends one character in another case; some become two or three ("ß" is "SS").
void append_upper(std::string& out, char32_t code_point);
void append_lower(std::string& out, char32_t code_point);
void append_title(std::string& out, char32_t code_point);

[[nodiscard]] std::string_view trim_left(std::string_view text) noexcept;
[[nodiscard]] std::string_view trim_right(std::string_view text) noexcept;

}  // namespace weft::jinja
