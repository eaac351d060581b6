#include "weft/core/text/utf8.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

/// Whether `second` may follow `lead`. The second byte shows overlong forms, surrogates and code
/// points past U+10FFFF (Unicode Standard, table 3-7).
bool is_second_byte(unsigned char lead, unsigned char second) noexcept {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return is_continuation_byte(static_cast<char>(second));
  }
}

}  // namespace

void append_utf8_beyond_ascii(std::string& out, char32_t code) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

std::string to_utf8(char32_t code) {
  std::string out;
  append_utf8(out, code);
  return out;
}

std::u32string to_code_points(std::string_view utf8) {
  std::u32string codes;
  codes.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const Utf8Char c = utf8_at(utf8, at);
    codes.push_back(c.code);
    at += c.length;
  }
  return codes;
}

std::size_t count_code_points(std::string_view utf8) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char byte) { return !is_continuation_byte(byte); }));
}

std::size_t code_point_offset(std::string_view utf8, std::size_t index) noexcept {
  for (std::size_t at = 0; at < utf8.size(); ++at) {
    if (is_continuation_byte(utf8[at])) continue;
    if (index == 0) return at;
    --index;
  }
  return utf8.size();
}

std::string_view cut_utf8(std::string_view utf8, std::size_t bytes) noexcept {
  if (utf8.size() <= bytes) return utf8;
  while (bytes > 0 && is_continuation_byte(utf8[bytes])) --bytes;
  return utf8.substr(0, bytes);
}

bool is_ascii(std::string_view text) noexcept {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080U) != 0) return false;
  }
  return std::ranges::none_of(text.substr(at),
                              [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t at = 0;
  while (at < text.size()) {
    if (at + 8 <= text.size() && is_ascii(text.substr(at, 8))) {
      at += 8;
      continue;
    }
    const unsigned char lead = byte(at);
    const std::size_t length = utf8_length(lead);
    if (length == 1) {
      if (lead >= 0x80) return at;
    } else {
      if (at + length > text.size() || !is_second_byte(lead, byte(at + 1))) return at;
      for (std::size_t i = 2; i < length; ++i) {
        if (!is_continuation_byte(text[at + i])) return at;
      }
    }
    at += length;
  }
  return at;
}

void Utf8Decoder::push(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (held_size_ == 0) {
      const std::size_t valid = valid_utf8_prefix(bytes);
      out.append(bytes.substr(0, valid));
      bytes.remove_prefix(valid);
      if (bytes.empty()) return;
    }
    push_byte(static_cast<unsigned char>(bytes.front()), out);
    bytes.remove_prefix(1);
  }
}

void Utf8Decoder::push_byte(unsigned char byte, std::string& out) {
  if (held_size_ > 0) {
    const auto lead = static_cast<unsigned char>(held_[0]);
    const bool fits = held_size_ == 1 ? is_second_byte(lead, byte)
                                      : is_continuation_byte(static_cast<char>(byte));
    if (fits) {
      held_[held_size_++] = static_cast<char>(byte);
      if (held_size_ == wanted_) {
        out.append(held_, held_size_);
        held_size_ = 0;
      }
      return;
    }
    finish(out);
  }
  wanted_ = static_cast<std::uint8_t>(utf8_length(byte));
  if (wanted_ > 1) {
    held_[0] = static_cast<char>(byte);
    held_size_ = 1;
  } else if (byte < 0x80) {
    out.push_back(static_cast<char>(byte));
  } else {
    out.append(kReplacementUtf8);
  }
}

void Utf8Decoder::finish(std::string& out) {
  if (held_size_ > 0) out.append(kReplacementUtf8);
  held_size_ = 0;
}

std::string lossy_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  Utf8Decoder decoder;
  decoder.push(bytes, out);
  decoder.finish(out);
  return out;
}

}  // namespace weft
