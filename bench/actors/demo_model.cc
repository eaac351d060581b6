#include "weft/bench/actors/demo_model.h"

#include <cstddef>
#include <random>
#include <utility>

#include "weft/model/open_model.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::bench {

std::string demo_model_path() { return test::source_path("examples/demo_model/model"); }

ServedModel demo_model(std::int64_t context) {
  ServedModel model{.tokenizer = load_tokenizer(demo_model_path()).value()};
  model.vocabulary = static_cast<std::int64_t>(model.tokenizer.vocabulary_size());
  model.context = context;
  const auto ends = model.tokenizer.end_tokens();
  model.end_tokens.assign(ends.begin(), ends.end());
  return model;
}

std::vector<TokenId> endless_tokens(const ServedModel& model) {
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
