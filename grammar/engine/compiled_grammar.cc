#include "weft/grammar/engine/compiled_grammar.h"

#include <utility>

#include "weft/grammar/defaults.h"
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
      automaton_(std::make_shared<LazyAutomaton>(data_, *trie_)) {}

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

std::size_t CompiledGrammar::state_bytes() const {
  const std::scoped_lock lock(mutex_);
  return automaton_->bytes();
}

CompiledGrammar::Place CompiledGrammar::start() const {
  const std::scoped_lock lock(mutex_);
  automaton_->allow_work();
  const LazyAutomaton::State state = automaton_->start();
  return {automaton_, state};
}

/// Brings a place to the automaton that is grown, which is a new one where that has become large.
void CompiledGrammar::refresh(Place& place) const {
  if (automaton_->bytes() > defaults::kMaxStateBytes) {
    automaton_ = std::make_shared<LazyAutomaton>(data_, *trie_);
  }
  automaton_->allow_work();
  if (place.automaton == automaton_) return;
  place.state = automaton_->adopt(*place.automaton, place.state);
  place.automaton = automaton_;
}

void CompiledGrammar::advance(Place& place, TokenId token) const {
  const std::scoped_lock lock(mutex_);
  refresh(place);
  place.state = automaton_->step_token(place.state, token);
}

const TokenMask& CompiledGrammar::mask(Place& place, bool& may_end) const {
  const std::scoped_lock lock(mutex_);
  refresh(place);
  may_end = automaton_->accepts(place.state);
  return automaton_->mask(place.state);
}

}  // namespace weft::grammar
