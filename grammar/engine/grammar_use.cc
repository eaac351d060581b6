#include "weft/grammar/engine/grammar_use.h"

#include <algorithm>
#include <utility>

#include "weft/grammar/engine/forced_follower.h"
#include "weft/grammar/engine/grammar_store.h"
#include "weft/grammar/engine/matcher.h"

namespace weft::grammar {

GrammarUse::GrammarUse(std::shared_ptr<const CompiledGrammar> grammar,
                       std::shared_ptr<GrammarStore> store)
    : grammar_(std::move(grammar)), store_(std::move(store)) {}

GrammarUse::~GrammarUse() { end(); }

std::unique_ptr<ConstraintState> GrammarUse::begin() const {
  return std::make_unique<Matcher>(shared_from_this());
}

std::unique_ptr<ForcedTokens> GrammarUse::follow() const { return grammar_->follow(); }

void GrammarUse::end() const noexcept {
  std::vector<Held> gone;  // freed after the lock is released
  {
    const std::scoped_lock lock(mutex_);
    if (ended_.exchange(true)) return;
    gone.swap(held_);
  }
  gone.clear();
  if (store_ != nullptr) store_->end_use(*grammar_);
}

void GrammarUse::move(const LazyAutomaton* from, std::shared_ptr<LazyAutomaton> to) const {
  std::shared_ptr<LazyAutomaton> gone;  // freed after the lock is released
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  const auto find = [&](const LazyAutomaton* one) {
    return std::ranges::find(held_, one, [](const Held& held) { return held.automaton.get(); });
  };
  if (to != nullptr) {
    auto found = find(to.get());
    if (found == held_.end()) found = held_.insert(found, Held{std::move(to), 0});
    ++found->matchers;
  }
  const auto left = find(from);
  if (from == nullptr || left == held_.end() || --left->matchers > 0) return;
  gone = std::move(left->automaton);
  held_.erase(left);
}

void GrammarUse::note_growth() const noexcept {
  if (store_ != nullptr && store_->memory()->is_full()) store_->make_room();
}

}  // namespace weft::grammar
