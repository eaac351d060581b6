#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/tokenizer/normalize/precompiled_charsmap.h"
#include "weft/text/tokenizer/split/regex.h"
#include "weft/text/unicode/unicode_normalization.h"

namespace weft {

struct LowercaseStep {};
/// Drops all marks.
struct StripAccentsStep {};
/// Drops white space at the ends.
struct StripStep {
  bool left = true;
  bool right = true;
};
struct ReplaceStep {
  std::variant<std::string, Regex> pattern;  ///< A text, which is not empty, or a pattern.
  std::string content;
};
/// Puts a text in front of a text that is not empty.
struct PrependStep {
  std::string content;
};
/// BERT's cleaning (Devlin et al. 2018, tokenization.py).
struct BertStep {
  bool clean_text = true;
  bool space_around_chinese = true;
  bool strip_accents = true;
  bool lowercase = true;
};
/// Writes the text in the byte alphabet.
struct ByteLevelNormalizerStep {};
/// SentencePiece's rules for machine translation: control characters and odd spaces.
struct NmtStep {};
struct PrecompiledStep {
  std::shared_ptr<const PrecompiledCharsmap> charsmap;
};

using NormalizerStep =
    std::variant<NormalizationForm, LowercaseStep, StripAccentsStep, StripStep, ReplaceStep,
                 PrependStep, BertStep, ByteLevelNormalizerStep, NmtStep, PrecompiledStep>;

/// The normalizer of a tokenizer: its steps in order; nested sequences are flattened. Thread-safe.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {}

  /// Normalizes valid UTF-8. Sets `begins_input` to false when the beginning is dropped.
  /// kTextTooLarge when the text grows beyond 4 times its size and 1 KiB, or when a pattern
  /// backtracks too much.
  [[nodiscard]] Result<void> apply(std::string& text, bool& begins_input) const;

  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  [[nodiscard]] const std::vector<NormalizerStep>& steps() const noexcept { return steps_; }

 private:
  std::vector<NormalizerStep> steps_;
};

}  // namespace weft
