#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/text/tokenizer/encode_scratch.h"
#include "weft/text/tokenizer/model/bpe_merges.h"
#include "weft/text/tokenizer/token_table.h"
#include "weft/text/unicode/code_point_table.h"

namespace weft {

/// The settings of a byte-pair encoding, besides its merges.
struct BpeOptions {
  TokenId unknown = kNoToken;  ///< For characters without a symbol; kNoToken: they are dropped.
  bool fuse_unknown = false;   ///< Adjacent unknowns become one token.
  bool byte_fallback = false;  ///< Characters without a symbol become byte tokens.
  bool whole_words = false;    ///< A word that is a token is not merged ("ignore_merges").
  bool over_bytes = false;     ///< Words are bytes; the vocabulary is in the byte alphabet.
  std::string word_begin_not;  ///< Put before every symbol but a word's first.
  std::string word_end;        ///< Put after a word's last symbol.
};

/// Byte-pair encoding (Sennrich et al. 2016): the pair of neighbours with the lowest rank merges
/// first, of equal pairs the leftmost, until no pair is left. Words of up to 34 bytes are
/// remembered; long words take n log n. Thread-safe.
class Bpe {
 public:
  /// Borrows `tokens`, which must outlive this. A token is found as a whole word only if
  /// `plain[id]`.
  Bpe(std::shared_ptr<const TokenTable> tokens, const std::vector<bool>& plain, BpeOptions options,
      BpeMerges merges);

  /// Sets symbols beyond the vocabulary, for characters that occur only inside tokens. Such a
  /// symbol that is not merged becomes its bytes. Ids count up from the size of the vocabulary.
  void set_extra_symbols(const std::vector<char32_t>& characters);

  /// Lets words be cut before each `mark` that does not follow another, if no rule merges across
  /// such a cut. A text without spaces between words is then as fast as one with spaces.
  void cut_before(char32_t mark);

  /// Whether no token of a word stands for more bytes than its text has, or than a character has
  /// when the token is the unknown one. Then nothing is dropped, and unknowns are not fused.
  [[nodiscard]] bool keeps_whole() const noexcept;

  /// Appends the tokens of one word.
  void encode(std::string_view word, EncodeScratch& scratch, std::vector<TokenId>& out) const;

 private:
  // used as bits
  enum Place : std::uint8_t { kInside = 0, kFirst = 1, kLast = 2 };

  [[nodiscard]] TokenId symbol(std::string_view character, unsigned place) const;
  void encode_cached(std::string_view word, bool whole, EncodeScratch& scratch,
                     std::vector<TokenId>& out) const;
  void encode_new(std::string_view word, bool whole, EncodeScratch& scratch,
                  std::vector<TokenId>& out) const;
  void split_into_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  [[nodiscard]] bool push_bytes(std::string_view character, std::vector<TokenId>& out) const;
  [[nodiscard]] TokenId find_word(std::string_view word, std::string& buffer) const;
  void merge_short(std::vector<TokenId>& symbols) const;
  void merge_long(EncodeScratch& scratch) const;
  void append(TokenId id, std::vector<TokenId>& out) const;

  std::shared_ptr<const TokenTable> tokens_;
  std::vector<bool> plain_;
  BpeOptions options_;
  BpeMerges merges_;
  bool has_affixes_;
  std::array<TokenId, 256> byte_tokens_{};                  ///< "<0x..>"
  std::array<std::array<TokenId, 256>, 4> byte_symbols_{};  ///< over_bytes; by Place
  CodePointTable characters_;                               ///< not over_bytes, without affixes
  std::vector<char32_t> extra_;
  std::string mark_;         ///< Words are cut before this text; empty: they are not cut.
  std::size_t longest_ = 0;  ///< bytes of the longest token
};

}  // namespace weft
