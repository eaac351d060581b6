#include "weft/text/tokenizer/model/wordpiece.h"

#include "weft/core/text/utf8.h"

namespace weft {

void WordPiece::encode(std::string_view word, EncodeScratch& scratch,
                       std::vector<TokenId>& out) const {
  scratch.words.encode(word, out, [&] { encode_new(word, out); });
}

void WordPiece::encode_new(std::string_view word, std::vector<TokenId>& out) const {
  const std::size_t before = out.size();
  if (word.size() > max_characters_ && count_code_points(word) > max_characters_) {
    return out.push_back(unknown_);
  }
  for (std::size_t at = 0; at < word.size();) {
    const ByteTrie& trie = at == 0 ? beginnings_ : continuations_;
    const ByteTrie::Match match = trie.longest_prefix(word.substr(at));
    if (match.length == 0) {
      out.resize(before);
      return out.push_back(unknown_);
    }
    out.push_back(match.id);
    at += match.length;
  }
}

}  // namespace weft
