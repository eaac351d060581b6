#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/model/word_cache.h"
#include "weft/text/tokenizer/split/pieces.h"

namespace weft {

/// Memory of one encode call that is kept for the next call; Tokenizer lends it. Owner only.
struct EncodeScratch {
  /// A symbol of a word that is being merged; the symbols are a list linked by indices.
  struct Symbol {
    TokenId id;
    std::uint32_t previous;
    std::uint32_t next;
  };
  /// The best path to an offset in a text, for Unigram.
  struct Path {
    double score;
    std::size_t begin;
    TokenId id;
  };

  Pieces pieces;
  WordCache words;
  std::vector<TokenId> symbols;
  std::vector<Symbol> list;
  std::vector<std::uint64_t> queue;
  std::vector<Path> paths;
  std::string text;
};

}  // namespace weft
