#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/token.h"
#include "weft/text/tokenizer.h"

namespace weft::cli {

/// A conversation of one question; `system` may be empty.
[[nodiscard]] boost::json::array one_question(const std::string& system, const std::string& user);

/// The tokens of a conversation, up to where the answer begins, by the tokenizer's own chat
/// template. Each message is an object with "role" and "content". TextErrc::kBadTemplate when the
/// model has no template or it fails.
[[nodiscard]] Result<std::vector<TokenId>> chat_tokens(const Tokenizer& tokenizer,
                                                       boost::json::array messages);

}  // namespace weft::cli
