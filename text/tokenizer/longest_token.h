#pragma once

#include <cstddef>
#include <optional>

#include "weft/text/tokenizer/tokenizer_parts.h"

namespace weft {

/// The result of Tokenizer::bytes_per_token(): the most bytes of a text that one of its tokens can
/// stand for, in any text. It is the size of the longest token, times how far normalization can
/// shrink a text. Nothing where there is no such number: where a normalizer or a splitting drops
/// white space or marks, an added token takes white space along, or text without a token becomes
/// one "unknown" of any length. `longest_added` is the size of the longest added token as it is
/// looked for; special ones count with `parse_special`.
[[nodiscard]] std::optional<std::size_t> longest_token(const TokenizerParts& parts,
                                                       std::size_t longest_added,
                                                       bool parse_special);

}  // namespace weft
