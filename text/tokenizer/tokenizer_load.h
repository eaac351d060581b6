#pragma once

#include <string_view>

#include "weft/text/tokenizer/tokenizer_parts.h"

namespace weft {

/// The parts of a tokenizer.json; errors of Tokenizer::from_json.
[[nodiscard]] Result<TokenizerParts> read_tokenizer_json(std::string_view text,
                                                         std::string_view name);

}  // namespace weft
