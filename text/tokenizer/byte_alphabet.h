#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// GPT-2's alphabet: a printable character for each of the 256 bytes, so that vocabularies of bytes
/// can be written as text. Bytes that are printable in Latin-1 stand for themselves, the others are
/// numbered from U+0100 on (Radford et al. 2019, encoder.py).
[[nodiscard]] char32_t byte_to_character(unsigned char byte) noexcept;
[[nodiscard]] std::optional<unsigned char> character_to_byte(char32_t code) noexcept;

/// Appends bytes in this alphabet.
void append_byte_alphabet(std::string& out, std::string_view bytes);

/// Sets `bytes` to the bytes of a text in this alphabet; returns false when a character is not in
/// it.
[[nodiscard]] bool from_byte_alphabet(std::string_view text, std::string& bytes);

/// Returns the byte of a SentencePiece byte token: "<0x" with exactly two hexadecimal digits and
/// ">".
[[nodiscard]] std::optional<unsigned char> parse_byte_token(std::string_view token) noexcept;
[[nodiscard]] std::string byte_token(unsigned char byte);

}  // namespace weft
