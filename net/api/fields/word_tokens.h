#pragma once

#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Appends the tokens of a list. Its entries are token ids, or texts of one token each. A text may
/// be one token at the beginning of an output or one token after other text; tokenizers that mark
/// words give two different tokens ("\n" is "▁" and a newline at the beginning). Mistakes stay in
/// `fields`: more than `most` entries, an entry of another type, a text of several tokens.
void take_word_tokens(BodyFields& fields, std::string_view name, const Tokenizer& tokenizer,
                      std::size_t most, std::vector<TokenId>& out);

/// Appends a list of token ids.
void take_token_ids(BodyFields& fields, std::string_view name, std::size_t most,
                    std::vector<TokenId>& out);

}  // namespace weft
