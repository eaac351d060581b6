#include "weft/text/tokenizer/split/split_scanner.h"

#include <array>

#include "weft/core/text/utf8.h"
#include "weft/text/unicode/unicode.h"

namespace weft {
namespace {

using Shape = SplitScanner::Shape;
using Contractions = SplitScanner::Contractions;

struct Known {
  std::string_view pattern;
  Shape shape;
  Contractions contractions;
  std::uint8_t max_digits;
};

constexpr std::array kKnown = {
    Known{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
          Shape::kGpt2, Contractions::kLowerCase, 0},
    Known{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        Shape::kCl100k, Contractions::kAnyCaseAndLongS, 3},
    Known{
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        Shape::kCl100k, Contractions::kAnyCaseAndLongS, 1},
    Known{
        R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        Shape::kCl100k, Contractions::kAnyCase, 3},
    Known{
        R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        Shape::kCl100k, Contractions::kAnyCase, 1},
    Known{R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          Shape::kCl100k, Contractions::kNone, 1},
    Known{
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        Shape::kDeepSeek, Contractions::kNone, 0},
    Known{R"(\p{N}{1,3})", Shape::kNumbers, Contractions::kNone, 3},
    Known{R"(\p{N})", Shape::kNumbers, Contractions::kNone, 1},
    Known{R"(\p{N}+)", Shape::kNumbers, Contractions::kNone, 0},
};

enum class Class : std::uint8_t { kSpace, kLetter, kNumber, kMark, kSign, kOther };

Class class_of_any(char32_t code) noexcept {
  if (is_white_space(code)) return Class::kSpace;
  if (is_letter(code)) return Class::kLetter;
  if (is_number(code)) return Class::kNumber;
  if (is_mark(code)) return Class::kMark;
  return is_punctuation(code) || is_symbol(code) ? Class::kSign : Class::kOther;
}

constexpr auto kAsciiClasses = [] {
  std::array<Class, 128> classes{};
  for (unsigned c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool number = c >= '0' && c <= '9';
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    const bool control = c < 32 || c == 127;
    classes[c] = letter    ? Class::kLetter
                 : number  ? Class::kNumber
                 : space   ? Class::kSpace
                 : control ? Class::kOther
                           : Class::kSign;
  }
  return classes;
}();

struct Seen {
  Class kind;
  std::size_t length;
};

/// A walk over one text. Each take_... returns the end of the match that begins at `at`, or `at`
/// when there is none.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] char byte(std::size_t at) const { return at < size() ? text_[at] : '\0'; }

  [[nodiscard]] Seen see(std::size_t at) const {
    const auto lead = static_cast<unsigned char>(text_[at]);
    if (lead < 0x80) return {kAsciiClasses[lead], 1};
    const Utf8Char c = utf8_at(text_, at);
    return {class_of_any(c.code), c.length};
  }

  [[nodiscard]] bool is(std::size_t at, Class kind) const {
    return at < size() && see(at).kind == kind;
  }

  template <class Wanted>
  [[nodiscard]] std::size_t run(std::size_t at, Wanted wanted, std::size_t most = 0) const {
    for (std::size_t count = 0; at < size() && (most == 0 || count < most); ++count) {
      const Seen seen = see(at);
      if (!wanted(seen.kind)) break;
      at += seen.length;
    }
    return at;
  }

  [[nodiscard]] std::size_t newlines(std::size_t at) const {
    while (byte(at) == '\n' || byte(at) == '\r') ++at;
    return at;
  }

  /// Returns the end of the white space at `at`: after its last newline when `newlines_first`.
  /// Otherwise it is the end of all white space, without the last character when other text
  /// follows.
  [[nodiscard]] std::size_t take_space(std::size_t at, bool newlines_first) const {
    std::size_t end = at;
    std::size_t last = at;
    std::size_t behind_newline = at;
    while (end < size()) {
      const Seen seen = see(end);
      if (seen.kind != Class::kSpace) break;
      last = end;
      end += seen.length;
      if (text_[last] == '\n' || text_[last] == '\r') behind_newline = end;
    }
    if (newlines_first && behind_newline > at) return behind_newline;
    return end == size() || last == at ? end : last;
  }

  [[nodiscard]] std::size_t take_contraction(std::size_t at, Contractions kind) const {
    if (kind == Contractions::kNone || byte(at) != '\'') return at;
    const auto lower = [&](std::size_t i) {
      const char c = byte(i);
      const bool upper = c >= 'A' && c <= 'Z';
      return upper && kind != Contractions::kLowerCase ? static_cast<char>(c + 32) : c;
    };
    const char first = lower(at + 1);
    const char second = lower(at + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
    if (first == 'l' && second == 'l') return at + 3;
    // A pattern that ignores case takes U+017F, the long s, for an s.
    const bool long_s =
        kind == Contractions::kAnyCaseAndLongS && byte(at + 1) == '\xC5' && byte(at + 2) == '\xBF';
    return long_s ? at + 3 : at;
  }

 private:
  std::string_view text_;
};

bool is_letter_class(Class kind) { return kind == Class::kLetter; }
bool is_number_class(Class kind) { return kind == Class::kNumber; }
bool is_letter_or_mark(Class kind) { return kind == Class::kLetter || kind == Class::kMark; }
bool is_sign(Class kind) { return kind == Class::kSign; }
bool is_none_of_gpt2(Class kind) {
  return kind != Class::kSpace && kind != Class::kLetter && kind != Class::kNumber;
}

std::size_t gpt2_word(const Walk& walk, std::size_t at, Contractions contractions) {
  if (const std::size_t end = walk.take_contraction(at, contractions); end > at) return end;
  const std::size_t begin = walk.byte(at) == ' ' && at + 1 < walk.size() ? at + 1 : at;
  switch (walk.see(begin).kind) {
    case Class::kLetter:
      return walk.run(begin, is_letter_class);
    case Class::kNumber:
      return walk.run(begin, is_number_class);
    case Class::kSpace:
      return walk.take_space(at, false);
    default:
      return walk.run(begin, is_none_of_gpt2);
  }
}

std::size_t cl100k_word(const Walk& walk, std::size_t at, Contractions contractions,
                        std::size_t max_digits) {
  if (const std::size_t end = walk.take_contraction(at, contractions); end > at) return end;
  const Seen seen = walk.see(at);
  if (seen.kind == Class::kLetter) return walk.run(at, is_letter_class);
  if (seen.kind == Class::kNumber) return walk.run(at, is_number_class, max_digits);
  const char c = walk.byte(at);
  const std::size_t next = at + seen.length;
  if (c != '\r' && c != '\n' && walk.is(next, Class::kLetter)) {
    return walk.run(next, is_letter_class);
  }
  if (seen.kind != Class::kSpace) return walk.newlines(walk.run(at, is_none_of_gpt2));
  if (c == ' ' && next < walk.size() && is_none_of_gpt2(walk.see(next).kind)) {
    return walk.newlines(walk.run(next, is_none_of_gpt2));
  }
  return walk.take_space(at, true);
}

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::size_t deepseek_word(const Walk& walk, std::size_t at) {
  const Seen seen = walk.see(at);
  const char c = walk.byte(at);
  const std::size_t next = at + seen.length;
  if (static_cast<unsigned char>(c) < 0x80 && seen.kind == Class::kSign &&
      is_ascii_letter(walk.byte(next))) {
    std::size_t end = next;
    while (is_ascii_letter(walk.byte(end))) ++end;
    return end;
  }
  const bool may_lead =
      c != '\r' && c != '\n' && seen.kind != Class::kLetter && !is_sign(seen.kind);
  if (may_lead && next < walk.size() && is_letter_or_mark(walk.see(next).kind)) {
    return walk.run(next, is_letter_or_mark);
  }
  if (is_letter_or_mark(seen.kind)) return walk.run(at, is_letter_or_mark);
  if (is_sign(seen.kind)) return walk.newlines(walk.run(at, is_sign));
  if (c == ' ' && walk.is(next, Class::kSign)) return walk.newlines(walk.run(next, is_sign));
  return seen.kind == Class::kSpace ? walk.take_space(at, true) : at;
}

}  // namespace

std::optional<SplitScanner> SplitScanner::find(std::string_view pattern) {
  for (const Known& known : kKnown) {
    if (known.pattern == pattern) {
      return SplitScanner(known.shape, known.contractions, known.max_digits);
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> SplitScanner::patterns() {
  std::vector<std::string_view> all;
  for (const Known& known : kKnown) all.push_back(known.pattern);
  return all;
}

void SplitScanner::split(std::string_view text, std::size_t offset,
                         std::vector<TextRange>& out) const {
  const Walk walk(text);
  const auto word_end = [&](std::size_t at) {
    switch (shape_) {
      case Shape::kGpt2:
        return gpt2_word(walk, at, contractions_);
      case Shape::kCl100k:
        return cl100k_word(walk, at, contractions_, max_digits_);
      case Shape::kNumbers:
        return walk.run(at, is_number_class, max_digits_);
      case Shape::kDeepSeek:
        return deepseek_word(walk, at);
    }
    return at;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = word_end(at);
    if (end == at) {
      at += walk.see(at).length;
    } else {
      out.push_back({offset + at, offset + end});
      at = end;
    }
  }
}

}  // namespace weft
