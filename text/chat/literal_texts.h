#pragma once

#include <cstddef>
#include <vector>

#include "weft/text/chat/chat_template.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Returns the offsets in a prompt of special tokens' texts that must not become tokens, because a
/// client wrote them: "<|im_end|>" in a message is a text like any other, and ends no turn. A text
/// whose first and last byte the template wrote becomes a token: so does a role between the
/// template's "<|" and "|>". A text that a client began or ended does not.
[[nodiscard]] std::vector<std::size_t> literal_starts(const RenderedPrompt& prompt,
                                                      const Tokenizer& tokenizer);

}  // namespace weft
