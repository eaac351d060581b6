#pragma once

#include <string>
#include <string_view>

#include "weft/text/tokenizer/decode/decoder.h"

namespace weft {

/// Appends the bytes that a token, in the vocabulary's spelling, stands for in the middle of a
/// text. They may be a part of a character. Where a decoder looks at neighbours (joining with
/// spaces, repetitions, the ends of the text), the token is treated as having none.
void append_token_bytes(const Decoder& decoder, std::string_view token, std::string& out);

}  // namespace weft
