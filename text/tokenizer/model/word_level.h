#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/encode_scratch.h"
#include "weft/text/tokenizer/token_table.h"

namespace weft {

/// One token for each word. Thread-safe.
class WordLevel {
 public:
  /// Borrows `tokens`; only tokens with `plain[id]` are found in text.
  WordLevel(std::shared_ptr<const TokenTable> tokens, std::vector<bool> plain, TokenId unknown)
      : tokens_(std::move(tokens)), plain_(std::move(plain)), unknown_(unknown) {}

  /// Appends the token of one word.
  void encode(std::string_view word, EncodeScratch& /*scratch*/, std::vector<TokenId>& out) const {
    const TokenId id = tokens_->find(word);
    out.push_back(id != kNoToken && plain_[static_cast<std::size_t>(id)] ? id : unknown_);
  }

 private:
  std::shared_ptr<const TokenTable> tokens_;
  std::vector<bool> plain_;
  TokenId unknown_;
};

}  // namespace weft
