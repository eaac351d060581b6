#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/text/tokenizer/split/regex.h"

namespace weft {

/// Splits text into words like one of the well-known patterns of byte-level tokenizers. It is
/// written by hand and therefore many times faster than a regex engine; each range equals a match
/// of the pattern. Linear in the text. Thread-safe.
class SplitScanner {
 public:
  /// Returns the scanner for `pattern` as it stands in tokenizer.json or in kGgufPatterns, if there
  /// is one.
  [[nodiscard]] static std::optional<SplitScanner> find(std::string_view pattern);

  /// Returns the patterns that have a scanner.
  [[nodiscard]] static std::vector<std::string_view> patterns();

  /// Appends the matches in `text` (valid UTF-8), each moved by `offset`. Where covers_all(), the
  /// matches cover the whole text without gaps.
  void split(std::string_view text, std::size_t offset, std::vector<TextRange>& out) const;

  [[nodiscard]] bool covers_all() const noexcept { return shape_ <= Shape::kCl100k; }

  enum class Shape : std::uint8_t {
    kGpt2,      ///< letters, numbers, others with a space before them; contractions in lower case
    kCl100k,    ///< letters with any sign before them, numbers in groups, newlines kept with signs
    kNumbers,   ///< only runs of numbers
    kDeepSeek,  ///< like kCl100k, with marks, punctuation and symbols distinguished
  };
  enum class Contractions : std::uint8_t { kNone, kLowerCase, kAnyCase, kAnyCaseAndLongS };

 private:
  SplitScanner(Shape shape, Contractions contractions, std::uint8_t max_digits)
      : shape_(shape), contractions_(contractions), max_digits_(max_digits) {}

  Shape shape_;
  Contractions contractions_;
  std::uint8_t max_digits_;  ///< numbers in one group; 0 for any number
};

}  // namespace weft
