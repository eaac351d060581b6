#pragma once

#include <variant>

#include "weft/text/tokenizer/model/bpe.h"
#include "weft/text/tokenizer/model/unigram.h"
#include "weft/text/tokenizer/model/word_level.h"
#include "weft/text/tokenizer/model/wordpiece.h"

namespace weft {

/// The model that turns one word into tokens.
using TokenModel = std::variant<Bpe, Unigram, WordPiece, WordLevel>;

}  // namespace weft
