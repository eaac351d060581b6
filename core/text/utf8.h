#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// UTF-8, as the Unicode Standard defines it in section 3.9: shortest forms only, no surrogates,
/// nothing past U+10FFFF. What code points mean is text/unicode's business. Functions are
/// thread-safe.
namespace weft {

/// U+FFFD stands for bytes that are not UTF-8.
inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

/// Whether `byte` is a continuation byte: one that follows the first byte of a code point.
[[nodiscard]] constexpr bool is_continuation_byte(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns how many bytes the code point that begins with `lead` has; 1 for bytes that begin none.
[[nodiscard]] constexpr std::size_t utf8_length(unsigned char lead) noexcept {
  if (lead < 0xC2) return 1;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 1;
}

/// A code point and the number of bytes that encode it.
struct Utf8Char {
  char32_t code;
  std::size_t length;
};

/// Decodes the code point that begins at `at`, which lies inside `text`. In text that is not valid
/// the code point may be any, but no byte past the end is read and the length stays inside.
[[nodiscard]] constexpr Utf8Char utf8_at(std::string_view text, std::size_t at = 0) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const auto rest = [&](std::size_t i) { return byte(i) & 0x3FU; };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = utf8_length(static_cast<unsigned char>(lead));
  if (length > text.size() - at) return {kReplacementCharacter, 1};
  switch (length) {
    case 2:
      return {((lead & 0x1FU) << 6U) | rest(1), 2};
    case 3:
      return {((lead & 0x0FU) << 12U) | (rest(1) << 6U) | rest(2), 3};
    case 4:
      return {((lead & 0x07U) << 18U) | (rest(1) << 12U) | (rest(2) << 6U) | rest(3), 4};
    default:
      return {kReplacementCharacter, 1};
  }
}

/// Returns where the code point that ends before `end` begins; `end` is greater than 0.
[[nodiscard]] constexpr std::size_t utf8_before(std::string_view text, std::size_t end) noexcept {
  do {
    --end;
  } while (end > 0 && is_continuation_byte(text[end]));
  return end;
}

/// Decodes the last code point of `text`, which is not empty.
[[nodiscard]] constexpr Utf8Char last_utf8(std::string_view text) noexcept {
  return utf8_at(text, utf8_before(text, text.size()));
}

/// Whether `code` can be encoded: at most U+10FFFF and no surrogate.
[[nodiscard]] constexpr bool is_scalar_value(std::uint64_t code) noexcept {
  return code < 0xD800 || (code >= 0xE000 && code <= 0x10FFFF);
}

void append_utf8_beyond_ascii(std::string& out, char32_t code);
/// Appends `code`, which is a scalar value.
inline void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) return out.push_back(static_cast<char>(code));
  append_utf8_beyond_ascii(out, code);
}

[[nodiscard]] std::string to_utf8(char32_t code);
/// Returns the code points of valid UTF-8.
[[nodiscard]] std::u32string to_code_points(std::string_view utf8);

/// Counts the code points that begin in `utf8`, so the parts of one count it once.
[[nodiscard]] std::size_t count_code_points(std::string_view utf8) noexcept;

/// Returns the byte at which code point number `index` begins; the size when there are fewer.
[[nodiscard]] std::size_t code_point_offset(std::string_view utf8, std::size_t index) noexcept;

/// Returns the longest prefix of at most `bytes` bytes that ends between two code points.
[[nodiscard]] std::string_view cut_utf8(std::string_view utf8, std::size_t bytes) noexcept;

[[nodiscard]] bool is_ascii(std::string_view text) noexcept;

/// Returns how many bytes from the beginning on are valid UTF-8: all of them when `text` is valid.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  return valid_utf8_prefix(text) == text.size();
}

/// Turns bytes into valid UTF-8 as they come: each maximal part of a broken code point becomes one
/// U+FFFD, as in Python's bytes.decode("utf-8", "replace") and the Unicode Standard, section 3.9.
/// Owner only.
class Utf8Decoder {
 public:
  /// Appends every whole code point to `out`; at most 3 bytes stay behind.
  void push(std::string_view bytes, std::string& out);

  /// Appends one U+FFFD for an incomplete code point at the end.
  void finish(std::string& out);

 private:
  void push_byte(unsigned char byte, std::string& out);

  char held_[4] = {};
  std::uint8_t held_size_ = 0;
  std::uint8_t wanted_ = 0;
};

/// Returns `bytes` as valid UTF-8; see Utf8Decoder.
[[nodiscard]] std::string lossy_utf8(std::string_view bytes);

}  // namespace weft
