#pragma once

#include <cstddef>
#include <optional>

#include "weft/text/tokenizer/tokenizer_parts.h"

namespace weft {

/// Computes Tokenizer::bytes_per_token(): the most bytes that one token can represent in any text.
/// It is the size of the longest token, times the factor by which normalization can shrink a text.
/// There is no such number if a normalizer or a splitting drops white space or marks, if an added
/// token includes white space, or if text without a token becomes one "unknown" of any length.
/// `longest_added` is the size of the longest added token in the searched text; special tokens
/// count with `parse_special`.
[[nodiscard]] std::optional<std::size_t> longest_token(const TokenizerParts& parts,
                                                       std::size_t longest_added,
                                                       bool parse_special);

}  // namespace weft
