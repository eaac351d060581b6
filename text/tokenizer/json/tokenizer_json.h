#pragma once

#include <vector>

#include "weft/text/tokenizer/json/tokenizer_fields.h"
#include "weft/text/tokenizer/tokenizer_parts.h"

namespace weft {

/// Readers of the sections of tokenizer.json. Mistakes go to the error of the fields; a reader's
/// result is then meaningless.

[[nodiscard]] std::vector<NormalizerStep> read_normalizer(const TokenizerFields& fields);
[[nodiscard]] std::vector<PreTokenizerStep> read_pre_tokenizer(const TokenizerFields& fields);
[[nodiscard]] std::vector<DecoderStep> read_decoder(const TokenizerFields& fields);

/// Wraps the tokens in `around`, because a later post-processor sees the tokens of an earlier one.
void read_post_processor(const TokenizerFields& fields, PostProcessor& around);

[[nodiscard]] std::vector<AddedToken> read_added_tokens(const TokenizerFields& root);

/// Fills parts.tokens with the model's vocabulary, and sets parts.model and parts.roles.unknown.
/// Reads parts.added and parts.pre_tokenizer.
void read_model(const TokenizerFields& fields, TokenizerParts& parts);

}  // namespace weft
