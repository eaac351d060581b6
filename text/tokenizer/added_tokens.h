#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/byte_trie.h"

namespace weft {

/// A token that is found in the text as it stands, before the model sees it.
struct AddedToken {
  std::string content;
  TokenId id = kNoToken;
  bool single_word = false;  ///< Only where no word character touches it.
  bool left_strip = false;   ///< Takes the white space before it along.
  bool right_strip = false;  ///< Takes the white space after it along.
  bool normalized = false;   ///< Looked for in normalized text, itself normalized.
  /// Written by a template or a protocol, never by a user: only found when asked for.
  bool special = false;
};

/// A part of a text: an added token, or text between two (id kNoToken).
struct TextSection {
  std::string_view text;
  TokenId id = kNoToken;
};

/// Finds a set of added tokens, from left to right, the longest where several begin. One step for
/// each byte of the text times the longest token. Thread-safe.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// Appends the sections of `text`, which view it; none is empty. Without `parse_special` special
  /// tokens stay text; with it, special tokens that begin at one of `literals`, ascending offsets
  /// in the text, stay text. White space that a token took along on its right may still be a token
  /// of its own, as in Hugging Face's tokenizers.
  void split(std::string_view text, bool parse_special, std::span<const std::size_t> literals,
             std::vector<TextSection>& out) const;

  [[nodiscard]] bool empty() const noexcept { return tokens_.empty(); }

 private:
  std::vector<AddedToken> tokens_;
  ByteTrie trie_;             ///< Its ids are indices into tokens_.
  std::vector<bool> begins_;  ///< By byte: whether a token begins with it.
};

}  // namespace weft
