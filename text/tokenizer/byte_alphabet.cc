#include "weft/text/tokenizer/byte_alphabet.h"

#include <array>
#include <charconv>

#include "weft/core/text/utf8.h"

namespace weft {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr char32_t kFirstOther = 0x100;

constexpr auto kCharacters = [] {
  std::array<char32_t, 256> characters{};
  char32_t next = kFirstOther;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? byte : next++;
  }
  return characters;
}();

constexpr auto kBytes = [] {
  std::array<int, 0x144> bytes{};
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[kCharacters[static_cast<unsigned>(byte)]] = byte;
  return bytes;
}();

}  // namespace

char32_t byte_to_character(unsigned char byte) noexcept { return kCharacters[byte]; }

std::optional<unsigned char> character_to_byte(char32_t code) noexcept {
  if (code >= kBytes.size() || kBytes[code] < 0) return std::nullopt;
  return static_cast<unsigned char>(kBytes[code]);
}

void append_byte_alphabet(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    append_utf8(out, kCharacters[static_cast<unsigned char>(byte)]);
  }
}

bool from_byte_alphabet(std::string_view text, std::string& bytes) {
  bytes.clear();
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_at(text, at);
    const auto byte = character_to_byte(c.code);
    if (!byte) return false;
    bytes.push_back(static_cast<char>(*byte));
    at += c.length;
  }
  return true;
}

std::optional<unsigned char> parse_byte_token(std::string_view token) noexcept {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  unsigned value = 0;
  const char* end = token.data() + 5;
  const auto [stop, error] = std::from_chars(token.data() + 3, end, value, 16);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return static_cast<unsigned char>(value);
}

std::string byte_token(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

}  // namespace weft
