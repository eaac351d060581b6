#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/tokenizer/decode/decoder.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Turns the tokens of one sequence into text as they arrive. The joined results of push() and
/// finish() equal Tokenizer::decode() of the whole sequence, and each part is valid UTF-8.
/// Incomplete characters, runs of byte tokens and text that a later token may still change are held
/// back. Work for each token does not grow with the sequence. Owner only.
class IncrementalDetokenizer {
 public:
  /// `shown` lists special tokens that are not skipped; it is sorted.
  explicit IncrementalDetokenizer(Tokenizer tokenizer, bool skip_special = true,
                                  std::vector<TokenId> shown = {})
      : tokenizer_(std::move(tokenizer)),
        stream_(tokenizer_.decoder()),
        skip_special_(skip_special),
        shown_(std::move(shown)) {}

  /// Called before the first token: the text continues a prompt's text, so a space at its beginning
  /// is kept.
  void go_on() { stream_.go_on(); }

  /// Returns the text that becomes final with this token, which may be empty. kNoSuchToken for an
  /// id that is not in the vocabulary; the state is then unchanged.
  [[nodiscard]] Result<std::string> push(TokenId id);

  /// Appends that text to `out`. Buffers keep their memory: nothing is allocated once they fit the
  /// longest token or run of byte tokens, unless the decoder replaces by a regex.
  [[nodiscard]] Result<void> push(TokenId id, std::string& out);

  /// Returns the rest: incomplete characters become U+FFFD. Called once, after the last push().
  [[nodiscard]] std::string finish();
  void finish(std::string& out);

  /// Makes take_ends() report each token's end in the whole text from now on.
  void track_ends() noexcept { tracks_ends_ = true; }
  /// Appends the newly known ends in the tokens' order, as offsets in the whole text, part of which
  /// may still be held back. A token that is skipped, or not in the vocabulary, ends where the
  /// token before it ends. After finish() all ends are known.
  void take_ends(std::vector<std::size_t>& ends) { stream_.take_ends(ends); }

 private:
  Tokenizer tokenizer_;  ///< Keeps the decoder alive, which stream_ borrows.
  DecodeStream stream_;
  bool skip_special_;
  std::vector<TokenId> shown_;
  bool tracks_ends_ = false;
};

}  // namespace weft
