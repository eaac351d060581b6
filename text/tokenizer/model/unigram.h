#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/byte_trie.h"
#include "weft/text/tokenizer/encode_scratch.h"
#include "weft/text/tokenizer/token_table.h"

namespace weft {

/// Unigram language model (Kudo 2018): of all cuts of a word into tokens it takes the one with the
/// highest sum of scores. It is found by dynamic programming over a trie, linear in the word.
/// Thread-safe.
class Unigram {
 public:
  /// Borrows `tokens`. `scores` are by id. Only tokens with `plain[id]` are found in text. Without
  /// byte_fallback, or where byte tokens are missing, text that no token covers becomes `unknown`,
  /// one token for adjacent characters; its score is 10 below the lowest.
  Unigram(std::shared_ptr<const TokenTable> tokens, std::vector<double> scores,
          const std::vector<bool>& plain, TokenId unknown, bool byte_fallback);

  /// Whether no token of a word stands for more bytes than its text has, because unknowns become
  /// bytes.
  [[nodiscard]] bool keeps_whole() const noexcept { return !byte_tokens_.empty(); }

  /// Appends the tokens of one word.
  void encode(std::string_view word, EncodeScratch& scratch, std::vector<TokenId>& out) const;

 private:
  void find_paths(std::string_view word, std::vector<EncodeScratch::Path>& paths) const;
  void append_unknown(std::string_view text, std::vector<TokenId>& out) const;
  void encode_new(std::string_view word, EncodeScratch& scratch, std::vector<TokenId>& out) const;

  std::shared_ptr<const TokenTable> tokens_;
  std::vector<double> scores_;
  ByteTrie trie_;
  std::vector<TokenId> byte_tokens_;  ///< All 256 byte tokens, or none.
  TokenId unknown_;
  double unknown_score_;
};

}  // namespace weft
