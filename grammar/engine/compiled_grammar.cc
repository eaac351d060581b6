#include "weft/grammar/engine/compiled_grammar.h"

#include <utility>

#include "weft/grammar/defaults.h"
#include "weft/grammar/engine/forced_follower.h"
#include "weft/grammar/engine/matcher.h"
#include "weft/grammar/grammar_error.h"

namespace weft::grammar {
namespace {

/// Special tokens that the vocabulary does not have are written out.
GrammarData for_vocabulary(GrammarData data, const TokenTrie& trie) {
  for (Node& node : data.nodes) {
    if (node.kind == NodeKind::kSpecial && trie.special(data.text(node)) == kNoToken) {
      node.kind = NodeKind::kLiteral;
    }
  }
  return data;
}

}  // namespace

CompiledGrammar::CompiledGrammar(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie)
    : trie_(std::move(trie)),
      data_(for_vocabulary(grammar.data(), *trie_)),
      automaton_(std::make_shared<LazyAutomaton>(data_, *trie_)),
      current_(automaton_.get()) {}

Result<std::shared_ptr<const CompiledGrammar>> CompiledGrammar::make(
    const Grammar& grammar, std::shared_ptr<const TokenTrie> trie) {
  const std::shared_ptr<CompiledGrammar> made(new CompiledGrammar(grammar, std::move(trie)));
  try {
    Place place = made->start();
    bool may_end = false;
    static_cast<void>(made->mask(place, may_end));
  } catch (const TooMuchWork&) {
    return Error{GrammarErrc::kTooComplex, "it leaves too much open at its beginning"};
  }
  return std::shared_ptr<const CompiledGrammar>(made);
}

std::unique_ptr<ConstraintState> CompiledGrammar::begin() const {
  return std::make_unique<Matcher>(shared_from_this());
}

std::unique_ptr<ForcedTokens> CompiledGrammar::follow() const {
  try {
    return std::make_unique<ForcedFollower>(shared_from_this());
  } catch (const TooMuchWork&) {
    return nullptr;
  }
}

std::size_t CompiledGrammar::state_bytes() const {
  const std::scoped_lock lock(mutex_);
  return automaton_->bytes();
}

CompiledGrammar::Place CompiledGrammar::start() const {
  Allowance allowance;
  std::shared_ptr<LazyAutomaton> automaton = grown();
  const LazyAutomaton::State state = automaton->start(allowance);
  return {std::move(automaton), state};
}

bool CompiledGrammar::is_current(const LazyAutomaton* automaton) const noexcept {
  return automaton == current_.load(std::memory_order_acquire) &&
         automaton->bytes() <= defaults::kMaxStateBytes;
}

/// The automaton that is grown, which is a new one where that has become large.
std::shared_ptr<LazyAutomaton> CompiledGrammar::grown() const {
  const std::scoped_lock lock(mutex_);
  if (!is_current(automaton_.get())) {
    automaton_ = std::make_shared<LazyAutomaton>(data_, *trie_);
    current_.store(automaton_.get(), std::memory_order_release);
  }
  return automaton_;
}

void CompiledGrammar::refresh(Place& place, Allowance& allowance) const {
  if (is_current(place.automaton.get())) return;
  std::shared_ptr<LazyAutomaton> automaton = grown();
  place.state = automaton->adopt(*place.automaton, place.state, allowance);
  place.automaton = std::move(automaton);
}

void CompiledGrammar::advance(Place& place, TokenId token, Allowance allowance) const {
  refresh(place, allowance);
  place.state = place.automaton->step_token(place.state, token, allowance);
}

const TokenMask& CompiledGrammar::mask(Place& place, bool& may_end) const {
  Allowance allowance;
  refresh(place, allowance);
  may_end = place.automaton->accepts(place.state);
  return place.automaton->mask(place.state, allowance);
}

const std::vector<TokenId>& CompiledGrammar::forced(Place& place, Allowance allowance) const {
  refresh(place, allowance);
  return place.automaton->forced(place.state, allowance);
}

bool CompiledGrammar::is_known(const Place& place, std::span<const TokenId> next) const noexcept {
  if (!is_current(place.automaton.get())) return false;
  LazyAutomaton::State state = place.state;
  for (const TokenId token : next) {
    state = place.automaton->known_step(state, token);
    if (state == LazyAutomaton::kUnknown) return false;
  }
  return place.automaton->has_mask(state);
}

}  // namespace weft::grammar
