#include "weft/grammar/engine/compiled_grammar.h"

#include <utility>

#include "weft/grammar/defaults.h"
#include "weft/grammar/engine/forced_follower.h"
#include "weft/grammar/engine/grammar_use.h"
#include "weft/grammar/grammar_error.h"

namespace weft::grammar {
namespace {

/// Replaces special tokens that the vocabulary lacks by their texts.
GrammarData for_vocabulary(GrammarData data, const TokenTrie& trie) {
  for (Node& node : data.nodes) {
    if (node.kind == NodeKind::kSpecial && trie.special(data.text(node)) == kNoToken) {
      node.kind = NodeKind::kLiteral;
    }
  }
  return data;
}

std::size_t bytes_of(const GrammarData& data) {
  std::size_t bytes = data.bytes.size() + data.nodes.size() * sizeof(Node) +
                      (data.children.size() + data.rules.size()) * sizeof(std::uint32_t);
  for (const ByteDfa& dfa : data.dfas) {
    bytes += sizeof(ByteDfa) + dfa.edges.size() * sizeof(ByteDfa::Edge) +
             dfa.states.size() * sizeof(ByteDfa::State);
  }
  return bytes;
}

}  // namespace

CompiledGrammar::CompiledGrammar(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie,
                                 std::shared_ptr<GrammarMemory> memory)
    : trie_(std::move(trie)),
      memory_(std::move(memory)),
      data_(for_vocabulary(grammar.data(), *trie_)),
      own_bytes_(sizeof(*this) + bytes_of(data_)),
      automaton_(std::make_shared<LazyAutomaton>(data_, *trie_, memory_)),
      current_(automaton_.get()) {
  if (memory_ != nullptr) memory_->add(own_bytes_);
}

CompiledGrammar::~CompiledGrammar() {
  if (memory_ != nullptr) memory_->remove(own_bytes_);
}

Result<std::shared_ptr<const CompiledGrammar>> CompiledGrammar::make(
    const Grammar& grammar, std::shared_ptr<const TokenTrie> trie,
    std::shared_ptr<GrammarMemory> memory) {
  const std::shared_ptr<CompiledGrammar> made(
      new CompiledGrammar(grammar, std::move(trie), std::move(memory)));
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
  return std::make_shared<const GrammarUse>(shared_from_this())->begin();
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
  return automaton_ == nullptr ? 0 : automaton_->bytes();
}

std::size_t CompiledGrammar::give_up_states() const noexcept {
  std::shared_ptr<LazyAutomaton> gone;  // freed after the lock is released
  const std::scoped_lock lock(mutex_);
  current_.store(nullptr, std::memory_order_release);
  gone = std::move(automaton_);
  return gone == nullptr ? 0 : gone->bytes();
}

CompiledGrammar::Place CompiledGrammar::start() const {
  Allowance allowance;
  std::shared_ptr<LazyAutomaton> automaton = grown();
  const LazyAutomaton::State state = automaton->start(allowance);
  return {std::move(automaton), state};
}

bool CompiledGrammar::is_current(const LazyAutomaton* automaton) const noexcept {
  return automaton != nullptr && automaton == current_.load(std::memory_order_acquire) &&
         automaton->bytes() <= defaults::kMaxStateBytes;
}

/// Returns the automaton that grows. A new automaton replaces it when it has become large.
std::shared_ptr<LazyAutomaton> CompiledGrammar::grown() const {
  const std::scoped_lock lock(mutex_);
  if (!is_current(automaton_.get())) {
    automaton_ = std::make_shared<LazyAutomaton>(data_, *trie_, memory_);
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
