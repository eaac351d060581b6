#pragma once

#include <vector>

#include "weft/core/token.h"

namespace weft {

/// The tokens that a tokenizer puts around a text when asked to (add_special).
struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

}  // namespace weft
