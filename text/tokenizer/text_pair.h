#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Appends the tokens of a text, with what the tokenizer puts around it, at most `most` of them:
/// the text's last tokens are left out where there would be more.
[[nodiscard]] Result<void> encode_cut(const Tokenizer& tokenizer, std::string_view text,
                                      std::size_t most, std::vector<TokenId>& out);

/// Two texts that belong together, such as a question and a passage.
struct TextPair {
  std::string_view first;
  std::string_view second;
};

/// How many tokens a pair may have.
struct PairBound {
  std::size_t tokens;
  bool cuts = false;  ///< cuts a longer pair, as Hugging Face's "longest_first", or refuses it
};

/// Appends the tokens of two texts, with what the tokenizer puts around and between them, and
/// returns the position from which the token type is 1; 0: all have type 0. kTooManyTokens;
/// kUnknownTokenizerPart when the tokenizer does not say how two texts are put together; errors of
/// Tokenizer::encode(). `out` is then as it was.
[[nodiscard]] Result<std::int32_t> encode_pair(const Tokenizer& tokenizer, const TextPair& texts,
                                               const PairBound& bound, std::vector<TokenId>& out);

}  // namespace weft
