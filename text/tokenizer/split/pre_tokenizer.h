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

/// The treatment of a splitting pattern's matches and of the texts between them, by
/// tokenizer.json's names.
enum class SplitBehavior : std::uint8_t {
  kIsolated,            ///< a piece each
  kRemoved,             ///< matches are dropped
  kContiguous,          ///< neighbours of the same kind become one piece
  kMergedWithPrevious,  ///< a match joins what stands before it
  kMergedWithNext,      ///< a match joins what stands after it
};

/// Classes of characters that are split at, one character a match.
enum class SplitClass : std::uint8_t { kWhiteSpace, kPunctuation, kNumber };

/// Splits pieces where `pattern` matches.
struct SplitStep {
  struct Literal {
    std::string text;
  };
  /// Runs of word characters, or of what is neither word nor white space.
  struct WordRuns {};
  std::variant<SplitClass, Regex, SplitScanner, Literal, WordRuns> pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< text between matches counts as the match
};

/// Puts a space before each piece that has none; the words and the byte alphabet of a ByteLevel
/// part are steps of their own.
struct PrefixSpaceStep {};

/// Writes each piece in the byte alphabet.
struct ByteAlphabetStep {};

/// Spaces become `replacement`, which is also put in front and split at.
struct MetaspaceStep {
  enum class Prepend : std::uint8_t { kAlways, kFirst, kNever };
  std::string replacement;
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

/// Pieces of `length` characters.
struct FixedLengthStep {
  std::size_t length = 1;
};

using PreTokenizerStep =
    std::variant<SplitStep, PrefixSpaceStep, ByteAlphabetStep, MetaspaceStep, FixedLengthStep>;

/// The pre-tokenizer of a tokenizer: steps in order, nested sequences laid flat. Thread-safe.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  /// kTextTooLarge from a pattern that backtracks too much.
  [[nodiscard]] Result<void> apply(Pieces& pieces) const;

  [[nodiscard]] const std::vector<PreTokenizerStep>& steps() const noexcept { return steps_; }

  /// Drops a final ByteAlphabetStep and returns whether there was one: a model over bytes does not
  /// need it.
  bool drop_final_byte_alphabet();

 private:
  std::vector<PreTokenizerStep> steps_;
};

}  // namespace weft
