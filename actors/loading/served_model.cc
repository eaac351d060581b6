#include "weft/actors/loading/served_model.h"

#include <algorithm>
#include <utility>

namespace weft {

std::vector<TokenId> sorted_once(std::vector<TokenId> tokens) {
  std::ranges::sort(tokens);
  const auto rest = std::ranges::unique(tokens);
  tokens.erase(rest.begin(), rest.end());
  return tokens;
}

}  // namespace weft
