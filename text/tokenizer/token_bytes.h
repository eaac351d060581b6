#pragma once

#include <string>
#include <string_view>

#include "weft/text/tokenizer/decode/decoder.h"

namespace weft {

/// Appends the bytes of a token, as the vocabulary writes it, in the middle of a text. They may be
/// a part of a character. Where a decoder looks at neighbours (joining with spaces, repetitions,
/// the ends of the text), the token is taken to have none.
void append_token_bytes(const Decoder& decoder, std::string_view token, std::string& out);

}  // namespace weft
