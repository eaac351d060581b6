#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/output/incremental_detokenizer.h"
#include "weft/text/output/stop_strings.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// The text of one output, made from its tokens as they are drawn: decoded, and ended by the first
/// stop string as StopScanner defines it. The joined texts of push() and finish() equal
/// Tokenizer::decode() of all tokens up to the end, and each part is valid UTF-8. Text is held back
/// as in IncrementalDetokenizer; stop strings hold back less than the longest of them. Nothing is
/// allocated once the buffers have their size and where `out` has room. Owner only.
class OutputText {
 public:
  /// Special tokens' texts are searched for stop strings only if the tokens are not skipped. Tokens
  /// in `shown`, which is sorted, are never skipped.
  OutputText(Tokenizer tokenizer, StopStrings stops, bool skip_special = true,
             std::vector<TokenId> shown = {})
      : detokenizer_(std::move(tokenizer), skip_special, std::move(shown)),
        has_stops_(!stops.empty()),
        scanner_(std::move(stops)) {}

  /// See IncrementalDetokenizer.
  void go_on() { detokenizer_.go_on(); }

  /// Appends the text that becomes final with this token, often none. Returns the index of the stop
  /// string that matched, once one has. The output is then over, and later calls append nothing and
  /// return the same index. kNoSuchToken for an id that is not in the vocabulary; the state is then
  /// unchanged.
  [[nodiscard]] Result<std::optional<std::size_t>> push(TokenId id, std::string& out);

  /// Ends the output without another token: appends the held-back text, with incomplete characters
  /// as U+FFFD. Returns the index of the stop string that this completes, or that matched before.
  /// Called once.
  [[nodiscard]] std::optional<std::size_t> finish(std::string& out);

  /// See IncrementalDetokenizer. An end beyond the text belongs to a token that a stop string cuts,
  /// or to a later token.
  void track_ends() noexcept { detokenizer_.track_ends(); }
  void take_ends(std::vector<std::size_t>& ends) { detokenizer_.take_ends(ends); }

 private:
  IncrementalDetokenizer detokenizer_;
  bool has_stops_;
  StopScanner scanner_;
  std::string decoded_;  ///< decoded text for the scanner; empty between calls
};

}  // namespace weft
