#include "weft/grammar/engine/determinize.h"

#include <unordered_map>
#include <vector>

#include "weft/grammar/engine/lazy_automaton.h"

namespace weft::grammar {

std::optional<ByteDfa> determinized(const GrammarData& data, std::uint32_t node,
                                    std::size_t most_states) {
  const TokenTrie no_tokens(std::vector<std::string>{}, {});
  LazyAutomaton automaton(data, no_tokens, node);
  Allowance allowance;
  DfaDraft draft;
  std::unordered_map<LazyAutomaton::State, std::uint32_t> known;
  std::vector<LazyAutomaton::State> open;
  const auto state_of = [&](LazyAutomaton::State state) {
    const auto [found, is_new] = known.try_emplace(state, 0);
    if (is_new) {
      found->second = draft.add_state(automaton.accepts(state));
      open.push_back(state);
    }
    return found->second;
  };
  try {
    state_of(automaton.start(allowance));
    for (std::size_t i = 0; i < open.size(); ++i) {
      const LazyAutomaton::State state = open[i];
      const std::uint32_t from = known[state];
      for (unsigned byte = 0; byte < 256; ++byte) {
        const auto one = static_cast<std::uint8_t>(byte);
        const LazyAutomaton::State to = automaton.step(state, one, allowance);
        if (to != LazyAutomaton::kDead) draft.add_edge(from, {one, one}, state_of(to));
      }
      if (open.size() > most_states) return std::nullopt;
    }
  } catch (const TooMuchWork&) {
    return std::nullopt;
  }
  return draft.finish();
}

}  // namespace weft::grammar
