#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/output/incremental_detokenizer.h"
#include "weft/text/output/stop_strings.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// The text of one output, from its tokens as they are drawn: decoded, and ended by the first stop
/// text as StopScanner defines it. What push() and finish() append, put together, is
/// Tokenizer::decode() of all tokens up to that place, and each part is valid UTF-8. Held back is
/// what IncrementalDetokenizer holds back and then less than the longest stop text; without stop
/// texts nothing more. Nothing is allocated once the buffers have their size and where `out` has
/// room. Owner only.
class OutputText {
 public:
  /// Texts of special tokens are looked through for stop texts only where they are not skipped.
  OutputText(Tokenizer tokenizer, StopStrings stops, bool skip_special = true)
      : detokenizer_(std::move(tokenizer), skip_special),
        stops_at_texts_(!stops.empty()),
        scanner_(std::move(stops)) {}

  /// Appends the text that is final with this token; often none. Gives the index of the stop text
  /// once one is hit: then the output is over, and later calls append nothing and give the same.
  /// kNoSuchToken for an id that is not in the vocabulary, which changes nothing.
  [[nodiscard]] Result<std::optional<std::size_t>> push(TokenId id, std::string& out);

  /// The output ends without another token: appends what was held back, incomplete characters as
  /// U+FFFD. Gives the index of the stop text that this brings out, or that was hit before. Called
  /// once.
  [[nodiscard]] std::optional<std::size_t> finish(std::string& out);

 private:
  IncrementalDetokenizer detokenizer_;
  bool stops_at_texts_;
  StopScanner scanner_;
  std::string decoded_;  ///< on its way to the scanner; empty between calls
};

}  // namespace weft
