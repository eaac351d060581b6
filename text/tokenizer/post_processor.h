#pragma once

#include <optional>
#include <vector>

#include "weft/core/token.h"

namespace weft {

/// The tokens that a tokenizer puts around two texts that belong together: before the first,
/// between them and after the second.
struct PairForm {
  std::vector<TokenId> before;
  std::vector<TokenId> between;
  std::vector<TokenId> after;
  bool types_differ = false;  ///< from the second text on the token type is 1, else 0 throughout
};

/// The tokens that a tokenizer puts around a text when asked to (add_special).
struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  /// Nothing where the files name no form, or a form that this cannot express.
  std::optional<PairForm> pair = PairForm{};
};

}  // namespace weft
