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

/// A trie of tokens by their bytes, in preorder: a node's children follow it, and `after` is the
/// first node that is not below it.
struct ByteTrie {
  struct Node {
    std::uint32_t after = 0;
    std::uint32_t token = 0;  ///< tokens that end here: tokens[token] up to the next node's `token`
    std::uint16_t depth = 0;  ///< bytes before this node's byte
    std::uint8_t byte = 0;
  };
  std::vector<Node> nodes;      ///< without the root; one extra node at the end
  std::vector<TokenId> tokens;  ///< tokens in the order of their nodes
};

/// The tokens of a vocabulary for use by a grammar. Special tokens have no text and are found by
/// name. Immutable, thread-safe; takes some 40 bytes for each byte of the vocabulary's text.
class TokenTrie {
 public:
  explicit TokenTrie(const Tokenizer& tokenizer);
  /// Makes the trie from the bytes of each token, by id. Empty bytes mean a token without bytes, or
  /// a token that may not be chosen. `special` names tokens by their text.
  TokenTrie(std::vector<std::string> bytes, std::unordered_map<std::string, TokenId> special);

  /// The tokens of plain text (ByteDfa::covers_text) with at most a number of code points, as bits,
  /// and a trie of all other tokens. Where that much plain text is allowed, only the other tokens
  /// must be checked.
  struct Slice {
    std::uint32_t characters = 0;
    std::uint32_t count = 0;  ///< number of bits that are set
    std::vector<std::uint32_t> bits;
    ByteTrie others;
  };
  /// Returns the largest slice of at most that many code points. The slice of 0 has no bits, and
  /// all tokens in its trie.
  [[nodiscard]] const Slice& slice(std::uint32_t characters) const;

  [[nodiscard]] std::size_t vocabulary() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::size_t words() const noexcept { return (bytes_.size() + 31) / 32; }
  [[nodiscard]] std::string_view bytes(TokenId token) const {
    return bytes_[static_cast<std::size_t>(token)];
  }
  [[nodiscard]] bool has(TokenId token) const noexcept {
    return token >= 0 && static_cast<std::size_t>(token) < bytes_.size();
  }
  /// Appends the tokens that the tokenizer makes of a text in the middle of another text; their
  /// bytes are the text's bytes. Returns false where there are none: without a tokenizer, for half
  /// a character, or where the tokenizer changes texts.
  [[nodiscard]] bool spell(std::string_view text, std::vector<TokenId>& out) const;
  /// Returns kNoToken where no special token has this text.
  [[nodiscard]] TokenId special(std::string_view text) const;

 private:
  void make_slices();
  [[nodiscard]] bool spells(std::span<const TokenId> tokens, std::string_view text) const;

  std::optional<Tokenizer> tokenizer_;
  std::vector<std::string> bytes_;
  std::unordered_map<std::string, TokenId> special_;
  std::vector<Slice> slices_;  ///< ascending by bound; the first has no bits
};

}  // namespace weft::grammar
