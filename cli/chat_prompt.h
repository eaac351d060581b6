#pragma once

#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/token.h"
#include "weft/text/tokenizer.h"

namespace weft::cli {

/// The tokens of a conversation of one question, by the tokenizer's own chat template; `system` may
/// be empty. TextErrc::kBadTemplate when the model has none.
[[nodiscard]] Result<std::vector<TokenId>> chat_tokens(const Tokenizer& tokenizer,
                                                       const std::string& system,
                                                       const std::string& user);

}  // namespace weft::cli
