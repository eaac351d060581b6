#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/byte_trie.h"
#include "weft/text/tokenizer/encode_scratch.h"

namespace weft {

/// WordPiece (Devlin et al. 2018): the longest token with which a word begins, then the longest
/// continuation, and so on. A word that cannot be cut in this way becomes one unknown token.
/// Thread-safe.
class WordPiece {
 public:
  /// A word begins with one of `beginnings` and continues with `continuations`, which are without
  /// their mark. Words of more than `max_characters` are unknown.
  WordPiece(ByteTrie beginnings, ByteTrie continuations, TokenId unknown,
            std::size_t max_characters)
      : beginnings_(std::move(beginnings)),
        continuations_(std::move(continuations)),
        unknown_(unknown),
        max_characters_(max_characters) {}

  /// Appends the tokens of one word.
  void encode(std::string_view word, EncodeScratch& scratch, std::vector<TokenId>& out) const;

 private:
  void encode_new(std::string_view word, std::vector<TokenId>& out) const;

  ByteTrie beginnings_;
  ByteTrie continuations_;
  TokenId unknown_;
  std::size_t max_characters_;
};

}  // namespace weft
