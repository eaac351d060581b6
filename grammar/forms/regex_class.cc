#include "weft/grammar/forms/regex_class.h"

#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"

namespace weft::grammar {
namespace {

const CodeSet& digits() {
  static const CodeSet set({{U'0', U'9'}});
  return set;
}
const CodeSet& word() {
  static const CodeSet set({{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}});
  return set;
}
const CodeSet& space() {
  static const CodeSet set({{U'\t', U'\r'}, {U' ', U' '}});
  return set;
}
const CodeSet& beyond_ascii() {
  static const CodeSet set({{0x80, 0x10FFFF}});
  return set;
}
/// Returns the white space of Unicode and of ECMAScript, and the separators that Python counts,
/// too.
const CodeSet& wide_space() {
  static const CodeSet set({{U'\t', U'\r'},
                            {0x1C, U' '},
                            {0x85, 0x85},
                            {0xA0, 0xA0},
                            {0x1680, 0x1680},
                            {0x2000, 0x200A},
                            {0x2028, 0x2029},
                            {0x202F, 0x202F},
                            {0x205F, 0x205F},
                            {0x3000, 0x3000},
                            {0xFEFF, 0xFEFF}});
  return set;
}

CharacterClass opposite(const CharacterClass& one) {
  return {one.wide.complement(), one.narrow.complement()};
}

}  // namespace

std::optional<CharacterClass> class_of_letter(char letter) {
  switch (letter) {
    case 'd':
      return CharacterClass{digits(), digits().united(beyond_ascii())};
    case 'w':
      return CharacterClass{word(), word().united(beyond_ascii())};
    case 's':
      return CharacterClass{space(), wide_space()};
    case 'D':
      return opposite(*class_of_letter('d'));
    case 'W':
      return opposite(*class_of_letter('w'));
    case 'S':
      return opposite(*class_of_letter('s'));
    default:
      return std::nullopt;
  }
}

char32_t EscapeReader::character() {
  const Utf8Char one = utf8_at(pattern_, at_);
  at_ += one.length;
  return one.code;
}

char32_t EscapeReader::hex(std::size_t digits) {
  char32_t code = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const char c = at_end() ? 'x' : pattern_[at_];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) {
      problem_ = "an escape lacks hexadecimal digits";
      return 0;
    }
    code = code * 16 + static_cast<char32_t>(digit);
    ++at_;
  }
  return code;
}

char32_t EscapeReader::braced_hex() {
  ++at_;
  const std::size_t close = pattern_.find('}', at_);
  if (close == std::string_view::npos || close == at_ || close - at_ > 6) {
    problem_ = "an escape lacks hexadecimal digits";
    return 0;
  }
  const char32_t code = hex(close - at_);
  at_ = close + 1;
  return code;
}

char32_t EscapeReader::escape(bool in_class) {
  if (at_end()) {
    problem_ = "a backslash ends it";
    return 0;
  }
  const char c = pattern_[at_];
  constexpr std::string_view kNames = "tnrfv0";
  constexpr std::u32string_view kCodes = U"\t\n\r\f\v\0";
  if (const auto found = kNames.find(c); found != std::string_view::npos) {
    ++at_;
    const bool octal = c == '0' && !at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '9';
    if (octal) problem_ = "octal escapes are not supported";
    return kCodes.substr(0, 6)[found];
  }
  char32_t code = 0;
  if (c == 'x' || c == 'u' || c == 'U') {
    ++at_;
    const bool braced = c != 'U' && !at_end() && pattern_[at_] == '{';
    code = braced ? braced_hex() : hex(c == 'x' ? 2 : c == 'u' ? 4 : 8);
    const bool pairs = c == 'u' && code >= 0xD800 && code < 0xDC00 &&
                       pattern_.substr(at_, 2) == "\\u" && problem_.empty();
    if (pairs) {
      at_ += 2;
      const char32_t low = hex(4);
      if (low < 0xDC00 || low > 0xDFFF) problem_ = "an escape is no character";
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    if (problem_.empty() && !is_scalar_value(code)) problem_ = "an escape is no character";
    return code;
  }
  if (in_class && c == 'b') {
    ++at_;
    return U'\b';
  }
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  if (is_letter) {
    problem_ = std::string("\\") + c + " is not supported";
    return 0;
  }
  return character();
}

char32_t EscapeReader::end_of_range() {
  if (pattern_[at_] != '\\') return character();
  ++at_;
  if (!at_end() && class_of_letter(pattern_[at_])) {
    problem_ = "a range ends in a class";
    return 0;
  }
  return escape(true);
}

CodeSet EscapeReader::bracket() {
  const bool negated = !at_end() && pattern_[at_] == '^';
  if (negated) ++at_;
  std::vector<CodeRange> narrow;
  std::vector<CodeRange> wide;
  for (bool first = true; problem_.empty(); first = false) {
    if (at_end()) {
      problem_ = "a class is not closed";
      break;
    }
    if (pattern_[at_] == ']' && !first) break;
    if (pattern_.substr(at_, 2) == "[:") {
      problem_ = "[:...:] is not supported";
      break;
    }
    if (pattern_[at_] == '\\' && at_ + 1 < pattern_.size()) {
      if (const auto named = class_of_letter(pattern_[at_ + 1])) {
        at_ += 2;
        narrow.insert(narrow.end(), named->narrow.ranges().begin(), named->narrow.ranges().end());
        wide.insert(wide.end(), named->wide.ranges().begin(), named->wide.ranges().end());
        continue;
      }
    }
    const char32_t low = end_of_range();
    char32_t high = low;
    if (at_ + 1 < pattern_.size() && pattern_[at_] == '-' && pattern_[at_ + 1] != ']') {
      ++at_;
      high = end_of_range();
      if (problem_.empty() && high < low) problem_ = "a range ends before it begins";
    }
    narrow.emplace_back(low, high);
    wide.emplace_back(low, high);
  }
  if (!problem_.empty()) return {};
  ++at_;
  return negated ? CodeSet(std::move(wide)).complement() : CodeSet(std::move(narrow));
}

}  // namespace weft::grammar
