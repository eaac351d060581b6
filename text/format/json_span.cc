#include "weft/text/format/json_span.h"

#include "weft/core/text/hex_value.h"
#include "weft/core/text/utf8.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

bool is_word_byte(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

}  // namespace

JsonSpan::Step JsonSpan::push(char c) noexcept {
  if (!started_) return begin(c);
  if (in_string_) return push_in_string(c);
  if (scalar_) return is_word_byte(c) ? Step::kMore : Step::kAfter;
  switch (c) {
    case '{':
    case '[':
      ++depth_;
      return Step::kMore;
    case '}':
    case ']':
      complete_ = --depth_ == 0;
      return complete_ ? Step::kLast : Step::kMore;
    case '"':
      in_string_ = true;
      return Step::kMore;
    case ',':
    case ':':
      return Step::kMore;
    default:
      return is_markup_space(c) || is_word_byte(c) ? Step::kMore : Step::kBroken;
  }
}

JsonSpan::Step JsonSpan::begin(char c) noexcept {
  if (is_markup_space(c)) return Step::kMore;
  started_ = true;
  if (c == '{' || c == '[') {
    depth_ = 1;
  } else if (c == '"') {
    in_string_ = true;
  } else if (is_word_byte(c)) {
    scalar_ = true;
  } else {
    return Step::kBroken;
  }
  return Step::kMore;
}

JsonSpan::Step JsonSpan::push_in_string(char c) noexcept {
  if (escaped_) {
    escaped_ = false;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_string_ = false;
    complete_ = depth_ == 0;
    if (complete_) return Step::kLast;
  }
  return Step::kMore;
}

bool JsonStringDecoder::push(char c, std::string& out) {
  if (hex_left_ > 0) {
    if (hex_value(c) >= 0) {
      push_hex(c, out);
      return false;
    }
    hex_left_ = 0;  // the escape is invalid: its digits are dropped, and this byte is read like any
                    // other
    high_ = 0;
    out.append(kReplacementUtf8);
  }
  if (escaped_) {
    push_escaped(c, out);
    return false;
  }
  if (c == '\\') {
    escaped_ = true;
    return false;
  }
  if (high_ != 0) out.append(kReplacementUtf8);
  high_ = 0;
  if (c == '"') return true;
  out.push_back(c);
  return false;
}

void JsonStringDecoder::push_escaped(char c, std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  escaped_ = false;
  if (c == 'u') {
    hex_left_ = 4;
    code_ = 0;
    return;
  }
  if (high_ != 0) out.append(kReplacementUtf8);
  high_ = 0;
  const std::size_t which = kNames.find(c);
  if (which != std::string_view::npos) return out.push_back(kBytes[which]);
  out.push_back('\\');
  out.push_back(c);
}

void JsonStringDecoder::push_hex(char c, std::string& out) {
  code_ = code_ * 16 + static_cast<char32_t>(hex_value(c));
  if (--hex_left_ == 0) end_code(out);
}

void JsonStringDecoder::end_code(std::string& out) {
  const bool low = code_ >= 0xDC00 && code_ < 0xE000;
  if (high_ != 0 && low) {
    append_utf8(out, 0x10000 + ((high_ - 0xD800) << 10U) + (code_ - 0xDC00));
    high_ = 0;
    return;
  }
  if (high_ != 0) out.append(kReplacementUtf8);
  high_ = 0;
  if (code_ >= 0xD800 && code_ < 0xDC00) {
    high_ = code_;
  } else {
    append_utf8(out, low ? kReplacementCharacter : code_);
  }
}

void append_json_escaped(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (byte < 0x20 || byte == 0x7F) {
      out.append("\\u00");
      out.push_back(kHex[byte >> 4U]);
      out.push_back(kHex[byte & 0xFU]);
    } else {
      out.push_back(c);
    }
  }
}

}  // namespace weft
