#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft::grammar {

/// A trie of tokens by their bytes, in preorder: a node's children come behind it, and `after` is
/// the first node that is not below it.
struct ByteTrie {
  struct Node {
    std::uint32_t after = 0;
    std::uint32_t token = 0;  ///< the first one that ends here is tokens[token], up to next's
    std::uint16_t depth = 0;  ///< bytes before the one of this node
    std::uint8_t byte = 0;
  };
  std::vector<Node> nodes;      ///< the root left out; one more at the end
  std::vector<TokenId> tokens;  ///< by node
};

/// The tokens of a vocabulary as a grammar looks at them. Special tokens stand for no text and are
/// found by name. Immutable, thread-safe; some 40 bytes for each byte of the vocabulary's text.
class TokenTrie {
 public:
  explicit TokenTrie(const Tokenizer& tokenizer);
  /// Makes the trie from the bytes of each token, by id; empty: no bytes, or a token that may not
  /// be chosen. `special` names tokens by their text.
  TokenTrie(std::vector<std::string> bytes, std::unordered_map<std::string, TokenId> special);

  /// Tokens of plain text (ByteDfa::covers_text) with at most so many code points, as bits, and a
  /// trie of all other tokens: where so much plain text is allowed, only the others are checked.
  struct Slice {
    std::uint32_t characters = 0;
    std::uint32_t count = 0;  ///< of the bits that are set
    std::vector<std::uint32_t> bits;
    ByteTrie others;
  };
  /// The largest slice of at most so many code points; the slice of 0 has no bits, and all tokens.
  [[nodiscard]] const Slice& slice(std::uint32_t characters) const;

  [[nodiscard]] std::size_t vocabulary() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::size_t words() const noexcept { return (bytes_.size() + 31) / 32; }
  [[nodiscard]] std::string_view bytes(TokenId token) const {
    return bytes_[static_cast<std::size_t>(token)];
  }
  [[nodiscard]] bool has(TokenId token) const noexcept {
    return token >= 0 && static_cast<std::size_t>(token) < bytes_.size();
  }
  /// The tokens that the tokenizer makes of a text in the middle of another text; their bytes are
  /// the text's. Returns false where there are none: without a tokenizer, for half a character, or
  /// where the tokenizer changes texts.
  [[nodiscard]] bool spell(std::string_view text, std::vector<TokenId>& out) const;
  /// Returns kNoToken where no special token has this text.
  [[nodiscard]] TokenId special(std::string_view text) const;

 private:
  void make_slices();
  [[nodiscard]] bool spells(std::span<const TokenId> tokens, std::string_view text) const;

  std::optional<Tokenizer> tokenizer_;
  std::vector<std::string> bytes_;
  std::unordered_map<std::string, TokenId> special_;
  std::vector<Slice> slices_;  ///< ascending; the first has no bits
};

}  // namespace weft::grammar
