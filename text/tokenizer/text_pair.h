#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// The number of tokens to which a text is cut, and the end at which it is cut.
struct TextCut {
  std::size_t tokens;  ///< includes the tokenizer's special tokens
  std::size_t own = std::numeric_limits<std::size_t>::max();  ///< counts only the text's own tokens
  bool begin = false;  ///< the text's first tokens are left out instead of its last ones
};

/// Appends the tokens of a text, with the special tokens that the tokenizer puts around it. The
/// text loses tokens at the end that `cut` names until there are few enough.
[[nodiscard]] Result<void> encode_cut(const Tokenizer& tokenizer, std::string_view text,
                                      const TextCut& cut, std::vector<TokenId>& out);

/// Two texts that belong together, such as a question and a passage.
struct TextPair {
  std::string_view first;
  std::string_view second;
};

/// How many tokens a pair may have.
struct PairBound {
  std::size_t tokens;
  bool cuts = false;  ///< whether a longer pair is cut, as in Hugging Face's "longest_first", or
                      ///< refused
  /// The number of tokens to which the second text is always cut.
  std::size_t second = std::numeric_limits<std::size_t>::max();
  bool cut_begin = false;  ///< a cut removes a text's first tokens, not its last
};

/// Appends the tokens of two texts, with the tokenizer's tokens around and between them. Returns
/// the position from which the token type is 1; 0: all have type 0. kTooManyTokens;
/// kUnknownTokenizerPart when the tokenizer does not define how two texts are joined; errors of
/// Tokenizer::encode(). On an error `out` is unchanged.
[[nodiscard]] Result<std::int32_t> encode_pair(const Tokenizer& tokenizer, const TextPair& texts,
                                               const PairBound& bound, std::vector<TokenId>& out);

}  // namespace weft
