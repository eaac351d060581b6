#include "weft/actors/loading/served_model.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft {

void apply_config(ServedModel& model, const Config& config,
                  std::shared_ptr<Gauge> structured_bytes) {
  model.cache_share = config.cache_share;
  model.guesses_unasked = config.guesses_unasked();
  model.takes_predictions = config.speculation_prediction;
  model.grammars =
      GrammarCache(model.tokenizer, static_cast<std::size_t>(config.structured_memory_bytes),
                   std::move(structured_bytes));
}

std::vector<TokenId> sorted_once(std::vector<TokenId> tokens) {
  std::ranges::sort(tokens);
  const auto rest = std::ranges::unique(tokens);
  tokens.erase(rest.begin(), rest.end());
  return tokens;
}

}  // namespace weft
