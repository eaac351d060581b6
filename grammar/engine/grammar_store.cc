#include "weft/grammar/engine/grammar_store.h"

#include <algorithm>
#include <utility>

#include "weft/grammar/defaults.h"
#include "weft/grammar/engine/grammar_use.h"

namespace weft::grammar {

GrammarStore::GrammarStore(std::shared_ptr<GrammarMemory> memory) : memory_(std::move(memory)) {}

GrammarStore::Lent GrammarStore::lend(Entry& entry) {
  Lent lent{std::make_shared<const GrammarUse>(entry.stored.grammar, shared_from_this()),
            entry.stored.not_enforced};
  ++entry.uses;
  return lent;
}

std::optional<GrammarStore::Lent> GrammarStore::find(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return lend(entries_.front());
}

GrammarStore::Lent GrammarStore::add(std::string key, Stored stored) {
  if (key.size() > defaults::kMaxKeptGrammarText) key.clear();
  const std::scoped_lock lock(mutex_);
  if (const auto known = by_key_.find(key); known != by_key_.end()) return lend(*known->second);
  entries_.push_front({std::move(key), std::move(stored), 0});
  try {
    if (!entries_.front().key.empty()) by_key_.emplace(entries_.front().key, entries_.begin());
    return lend(entries_.front());
  } catch (...) {
    Entries gone;
    drop(entries_.begin(), gone);
    throw;
  }
}

void GrammarStore::end_use(const CompiledGrammar& grammar) noexcept {
  Entries gone;  // freed after the lock is released
  const std::scoped_lock lock(mutex_);
  const auto entry = std::ranges::find(entries_, &grammar,
                                       [](const Entry& one) { return one.stored.grammar.get(); });
  if (entry == entries_.end() || --entry->uses > 0) return;
  if (entry->key.empty()) {
    drop(entry, gone);
  } else {
    drop_idle(gone);
  }
}

/// A matcher of an ended request may keep the grammar, but not its states.
void GrammarStore::drop(Entries::iterator entry, Entries& gone) noexcept {
  if (!entry->key.empty()) by_key_.erase(entry->key);
  entry->stored.grammar->give_up_states();
  gone.splice(gone.begin(), entries_, entry);
}

/// Keeps only a bounded number of idle grammars, the most recently requested ones.
void GrammarStore::drop_idle(Entries& gone) noexcept {
  std::size_t grammars = 0;
  std::size_t text = 0;
  std::size_t bytes = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto one = entry++;
    if (one->uses > 0) continue;
    const std::size_t own = one->stored.grammar->bytes();
    if (grammars == defaults::kMaxKeptGrammars ||
        text + one->key.size() > defaults::kMaxKeptGrammarText ||
        bytes + own > memory_->limit() / defaults::kIdleGrammarShare) {
      drop(one, gone);
      continue;
    }
    ++grammars;
    text += one->key.size();
    bytes += own;
  }
}

bool GrammarStore::make_room() noexcept {
  if (!memory_->is_full()) return true;
  {
    Entries gone;
    const std::scoped_lock lock(mutex_);
    const std::size_t goal = memory_->limit() / 4 * 3;
    std::size_t left = 0;
    for (const Entry& one : entries_) left += one.stored.grammar->bytes();
    for (auto entry = entries_.end(); entry != entries_.begin() && left > goal;) {
      const auto one = --entry;
      if (one->uses > 0) continue;
      ++entry;
      left -= std::min(left, one->stored.grammar->bytes());
      drop(one, gone);
    }
    for (auto entry = entries_.rbegin(); entry != entries_.rend() && left > goal; ++entry) {
      left -= std::min(left, entry->stored.grammar->give_up_states());
    }
  }
  return !memory_->is_full();
}

}  // namespace weft::grammar
