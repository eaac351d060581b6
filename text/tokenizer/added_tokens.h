#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/byte_trie.h"

namespace weft {

/// A token that is found in the text directly, before the model sees the text.
struct AddedToken {
  std::string content;
  TokenId id = kNoToken;
  bool single_word = false;  ///< Only found where no word character touches it.
  bool left_strip = false;   ///< Includes the white space before it.
  bool right_strip = false;  ///< Includes the white space after it.
  bool normalized = false;   ///< Searched in normalized text, and itself normalized.
  /// A template or a protocol writes it, never a user; it is found only when requested.
  bool special = false;
};

/// A section of a text: an added token, or the text between two (id kNoToken).
struct TextSection {
  std::string_view text;
  TokenId id = kNoToken;
};

/// Finds a set of added tokens, from left to right; where several begin, the longest. Takes time
/// proportional to the text's bytes times the longest token. Thread-safe.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// Appends the sections of `text`, which are views of it; none is empty. Without `parse_special`
  /// special tokens stay text. With it, special tokens that begin at one of `literals`, ascending
  /// offsets in the text, stay text. White space that a token included on its right may still be a
  /// separate token, as in Hugging Face's tokenizers.
  void split(std::string_view text, bool parse_special, std::span<const std::size_t> literals,
             std::vector<TextSection>& out) const;

  [[nodiscard]] bool empty() const noexcept { return tokens_.empty(); }

 private:
  std::vector<AddedToken> tokens_;
  ByteTrie trie_;             ///< Ids in it are indices into tokens_.
  std::vector<bool> begins_;  ///< By byte: whether a token begins with it.
};

}  // namespace weft
