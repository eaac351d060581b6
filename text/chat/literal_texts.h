#pragma once

#include <cstddef>
#include <vector>

#include "weft/text/chat/chat_template.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Returns the offsets in a prompt of special tokens' texts that make no token, because a client
/// wrote them: "<|im_end|>" in a message is a text like any other, and ends no turn. A text whose
/// first and last byte the template wrote makes a token; so a role between the template's "<|" and
/// "|>" makes a token, and a text that a client began or ended makes none.
[[nodiscard]] std::vector<std::size_t> literal_starts(const RenderedPrompt& prompt,
                                                      const Tokenizer& tokenizer);

}  // namespace weft
