#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/split/pieces.h"
#include "weft/text/tokenizer/split/regex.h"
#include "weft/text/tokenizer/split/split_scanner.h"

namespace weft {

/// The treatment of a splitting pattern's matches and of the texts between them, under
/// tokenizer.json's names.
enum class SplitBehavior : std::uint8_t {
  kIsolated,            ///< each match is a piece
  kRemoved,             ///< matches are dropped
  kContiguous,          ///< adjacent parts of the same kind become one piece
  kMergedWithPrevious,  ///< a match joins the text before it
  kMergedWithNext,      ///< a match joins the text after it
};

/// Classes of characters that are split at, one character a match.
enum class SplitClass : std::uint8_t { kWhiteSpace, kPunctuation, kNumber };

/// Splits pieces where `pattern` matches.
struct SplitStep {
  struct Literal {
    std::string text;
  };
  /// Splits into runs of word characters, and runs of characters that are neither word nor white
  /// space.
  struct WordRuns {};
  std::variant<SplitClass, Regex, SplitScanner, Literal, WordRuns> pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< text between matches is treated like the match
};

/// Puts a space before each piece that begins without one. The words and the byte alphabet of a
/// ByteLevel part are separate steps.
struct PrefixSpaceStep {};

/// Writes each piece in the byte alphabet.
struct ByteAlphabetStep {};

/// Turns spaces into `replacement`, which is also put in front and split at.
struct MetaspaceStep {
  enum class Prepend : std::uint8_t { kAlways, kFirst, kNever };
  std::string replacement;
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

/// Splits into pieces of `length` characters.
struct FixedLengthStep {
  std::size_t length = 1;
};

using PreTokenizerStep =
    std::variant<SplitStep, PrefixSpaceStep, ByteAlphabetStep, MetaspaceStep, FixedLengthStep>;

/// The pre-tokenizer of a tokenizer: its steps in order; nested sequences are flattened.
/// Thread-safe.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  /// Splits the pieces. kTextTooLarge when a pattern backtracks too much.
  [[nodiscard]] Result<void> apply(Pieces& pieces) const;

  [[nodiscard]] const std::vector<PreTokenizerStep>& steps() const noexcept { return steps_; }

  /// Drops a final ByteAlphabetStep and returns whether there was one: a model over bytes does not
  /// need it.
  bool drop_final_byte_alphabet();

 private:
  std::vector<PreTokenizerStep> steps_;
};

}  // namespace weft
