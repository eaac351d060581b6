#pragma once

#include <cstddef>
#include <vector>

#include "weft/text/chat/chat_template.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Returns the offsets in a prompt at which the text of a special token begins that is no token,
/// because a client wrote it: "<|im_end|>" in a message is a text like any other, and ends no turn.
/// The template's are those whose first and last byte the template wrote; so a role between the
/// template's "<|" and "|>" makes a token, and a text that a client has begun or ended makes none.
[[nodiscard]] std::vector<std::size_t> literal_starts(const RenderedPrompt& prompt,
                                                      const Tokenizer& tokenizer);

}  // namespace weft
