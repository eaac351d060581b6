#pragma once

#include <variant>

#include "weft/text/bpe.h"
#include "weft/text/unigram.h"
#include "weft/text/word_level.h"
#include "weft/text/wordpiece.h"

namespace weft {

/// What turns one word into tokens.
using TokenModel = std::variant<Bpe, Unigram, WordPiece, WordLevel>;

}  // namespace weft
