#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "weft/grammar/byte_dfa.h"

namespace weft::grammar {

/// A class of characters, in two sizes: the characters that all dialects count, and those that any
/// dialect counts. The class allows only the former, and its opposite excludes the latter.
struct CharacterClass {
  CodeSet narrow;
  CodeSet wide;
};

/// Returns the class of \d, \w, \s or of the opposite of one; nothing for another letter.
[[nodiscard]] std::optional<CharacterClass> class_of_letter(char letter);

/// Reads characters and escapes of a regular expression, and advances `at`. After a mistake
/// `problem` describes it. Owner only; borrows the pattern.
class EscapeReader {
 public:
  EscapeReader(std::string_view pattern, std::size_t& at, std::string& problem)
      : pattern_(pattern), at_(at), problem_(problem) {}

  /// Reads one code point without interpreting it.
  char32_t character();
  /// Returns the code point of an escape; `at` is after the backslash.
  char32_t escape(bool in_class);
  /// Reads a class in brackets; `at` is after the "[".
  CodeSet bracket();

 private:
  bool at_end() const { return at_ >= pattern_.size(); }
  char32_t hex(std::size_t digits);
  char32_t braced_hex();
  char32_t end_of_range();

  std::string_view pattern_;
  std::size_t& at_;
  std::string& problem_;
};

}  // namespace weft::grammar
