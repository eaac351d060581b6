#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "weft/actors/served_model.h"
#include "weft/model/open_model.h"

namespace weft::bench {

/// The demo model's tokenizer, for devices that need no weights.
inline ServedModel demo_model(std::int64_t context) {
  ServedModel model{.tokenizer = load_tokenizer(WEFT_DEMO_MODEL).value()};
  model.vocabulary = static_cast<std::int64_t>(model.tokenizer.vocabulary_size());
  model.context = context;
  const auto ends = model.tokenizer.end_tokens();
  model.end_tokens.assign(ends.begin(), ends.end());
  return model;
}

/// Tokens of a text of the demo model's vocabulary that never ends; a power of two.
inline std::vector<TokenId> endless_tokens(const ServedModel& model) {
  constexpr std::size_t kTokens = 1 << 14;
  std::minstd_rand random(1);
  std::vector<TokenId> tokens;
  while (tokens.size() < kTokens) {
    const auto id = static_cast<TokenId>(random() % static_cast<std::uint64_t>(model.vocabulary));
    if (!model.tokenizer.is_special(id)) tokens.push_back(id);
  }
  return tokens;
}

}  // namespace weft::bench
