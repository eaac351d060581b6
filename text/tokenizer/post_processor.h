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
  bool types_differ = false;  ///< token type 1 from the second text on; else type 0 throughout
};

/// The tokens that a tokenizer puts around a text on request (add_special).
struct PostProcessor {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  /// Empty where the files state no form, or a form that this struct cannot express.
  std::optional<PairForm> pair = PairForm{};
};

}  // namespace weft
