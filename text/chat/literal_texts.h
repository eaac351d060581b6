#pragma once

#include <cstddef>
#include <vector>

#include "weft/text/chat/chat_template.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Returns the offsets in a prompt of special tokens' texts that must not become tokens, because a
/// client wrote them: "<|im_end|>" in a message is a text like any other, and ends no turn. A text
/// becomes a token if the template wrote its first and last byte, even around a role: "<|", role,
/// "|>". A text that a client began or ended does not become one.
[[nodiscard]] std::vector<std::size_t> literal_starts(const RenderedPrompt& prompt,
                                                      const Tokenizer& tokenizer);

}  // namespace weft
