#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// What stands for bytes that are no UTF-8.
inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

/// How many bytes the character that begins with `lead` has; 1 for bytes that begin none.
[[nodiscard]] constexpr std::size_t utf8_length(unsigned char lead) noexcept {
  if (lead < 0xC2) return 1;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 1;
}

/// One character of valid UTF-8 and its bytes.
struct Utf8Char {
  char32_t code;
  std::size_t length;
};

/// The character at `at`, which must be the beginning of one in valid UTF-8.
[[nodiscard]] inline Utf8Char utf8_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {((lead & 0x1F) << 6) | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) {
    return {((lead & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F), 3};
  }
  return {
      ((lead & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F),
      4};
}

/// Where the character that ends before `end` begins; `end` is greater than 0.
[[nodiscard]] inline std::size_t utf8_before(std::string_view text, std::size_t end) noexcept {
  do {
    --end;
  } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

void append_utf8_beyond_ascii(std::string& out, char32_t code);
inline void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) return out.push_back(static_cast<char>(code));
  append_utf8_beyond_ascii(out, code);
}

[[nodiscard]] std::string to_utf8(char32_t code);
[[nodiscard]] std::u32string to_code_points(std::string_view utf8);
[[nodiscard]] std::size_t count_code_points(std::string_view utf8) noexcept;

[[nodiscard]] bool is_ascii(std::string_view text) noexcept;

/// How far `text` is valid UTF-8; its size when all of it is.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

/// Turns bytes into valid UTF-8 as they come: each maximal part of a broken character becomes one
/// U+FFFD, as in Python's bytes.decode("utf-8", "replace") and the Unicode Standard, section 3.9.
/// Owner only.
class Utf8Decoder {
 public:
  /// Appends what is whole now to `out`; at most 3 bytes stay behind.
  void push(std::string_view bytes, std::string& out);

  /// Appends U+FFFD for what stayed behind.
  void finish(std::string& out);

 private:
  void push_byte(unsigned char byte, std::string& out);

  char held_[4] = {};
  std::uint8_t held_size_ = 0;
  std::uint8_t wanted_ = 0;
};

/// `bytes` as valid UTF-8; see Utf8Decoder.
[[nodiscard]] std::string lossy_utf8(std::string_view bytes);

/// Classes of characters, as Unicode's general category and White_Space have them.
[[nodiscard]] inline bool is_white_space(char32_t code) noexcept {
  if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13);
  if (code < 0x1680) return code == 0x85 || code == 0xA0;
  return code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}
[[nodiscard]] bool is_letter(char32_t code) noexcept;           ///< L*
[[nodiscard]] bool is_number(char32_t code) noexcept;           ///< N*
[[nodiscard]] bool is_mark(char32_t code) noexcept;             ///< M*
[[nodiscard]] bool is_punctuation(char32_t code) noexcept;      ///< P*
[[nodiscard]] bool is_symbol(char32_t code) noexcept;           ///< S*
[[nodiscard]] bool is_nonspacing_mark(char32_t code) noexcept;  ///< Mn
/// Cc, Cf, Cs and Co: "other" that is assigned.
[[nodiscard]] bool is_control(char32_t code) noexcept;
/// What a regex calls \w: letters, marks, decimal digits, connectors, joiners.
[[nodiscard]] bool is_word(char32_t code) noexcept;

/// Lower case of one character, at most two characters long.
void append_lower_case_beyond_ascii(std::string& out, char32_t code);
inline void append_lower_case(std::string& out, char32_t code) {
  if (code >= 0x80) return append_lower_case_beyond_ascii(out, code);
  const bool upper = code >= 'A' && code <= 'Z';
  out.push_back(static_cast<char>(upper ? code + ('a' - 'A') : code));
}

}  // namespace weft
