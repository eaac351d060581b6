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

/// The class of \d, \w, \s or the opposite of one; nothing for another letter.
[[nodiscard]] std::optional<CharacterClass> class_of_letter(char letter);

/// Reads characters and escapes of a regular expression. `at` moves on; after a mistake `problem`
/// says what is wrong. Owner only; borrows the pattern.
class EscapeReader {
 public:
  EscapeReader(std::string_view pattern, std::size_t& at, std::string& problem)
      : pattern_(pattern), at_(at), problem_(problem) {}

  /// One code point as it stands.
  char32_t character();
  /// The code point that an escape means; `at` is behind the backslash.
  char32_t escape(bool in_class);
  /// A class in brackets; `at` is behind the "[".
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
