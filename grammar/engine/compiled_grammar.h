#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/grammar/engine/grammar_memory.h"
#include "weft/grammar/engine/lazy_automaton.h"
#include "weft/grammar/engine/token_trie.h"
#include "weft/grammar/grammar.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// A grammar over a vocabulary, shared by all sequences that it constrains. The sequences share the
/// states and masks found so far, and look them up without a lock (LazyAutomaton). States and masks
/// are dropped when they reach defaults::kMaxStateBytes or are given up, and are made again when
/// needed. Thread-safe.
class CompiledGrammar final : public TokenConstraint,
                              public std::enable_shared_from_this<CompiledGrammar> {
 public:
  /// kTooComplex when the first mask costs more work than is allowed. `memory` counts the grammar's
  /// bytes; null: they are not counted.
  [[nodiscard]] static Result<std::shared_ptr<const CompiledGrammar>> make(
      const Grammar& grammar, std::shared_ptr<const TokenTrie> trie,
      std::shared_ptr<GrammarMemory> memory = nullptr);
  ~CompiledGrammar() override;

  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override;
  /// Returns null when the first state is too much work.
  [[nodiscard]] std::unique_ptr<ForcedTokens> follow() const override;

  /// Returns the bytes that its states take now; and these bytes with the grammar itself.
  [[nodiscard]] std::size_t state_bytes() const;
  [[nodiscard]] std::size_t bytes() const { return own_bytes_ + state_bytes(); }
  /// Drops the states and masks; places move to new states when they are used next. Returns how
  /// much memory becomes free once all places have moved.
  std::size_t give_up_states() const noexcept;

  /// A sequence's place: a state, and the automaton that it belongs to.
  struct Place {
    std::shared_ptr<LazyAutomaton> automaton;
    LazyAutomaton::State state = LazyAutomaton::kDead;
  };
  /// Returns the place where an output begins. This and the next functions may throw TooMuchWork or
  /// bad_alloc.
  [[nodiscard]] Place start() const;
  /// Moves a place to a state of the current automaton, where its own automaton was dropped.
  void refresh(Place& place) const {
    Allowance allowance;
    refresh(place, allowance);
  }
  /// Advances a place by a token; kDead where the token is not allowed.
  void advance(Place& place, TokenId token, Allowance allowance = {}) const;
  /// Returns the mask of a place. The mask is valid until the place changes again.
  [[nodiscard]] const TokenMask& mask(Place& place, bool& may_end) const;
  /// Returns the tokens that must follow a place (LazyAutomaton::forced), valid until the place
  /// changes.
  [[nodiscard]] const std::vector<TokenId>& forced(Place& place, Allowance allowance) const;
  /// Whether advance() by these tokens and then mask() would only look up results. Never waits.
  [[nodiscard]] bool is_known(const Place& place, std::span<const TokenId> next) const noexcept;

 private:
  CompiledGrammar(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie,
                  std::shared_ptr<GrammarMemory> memory);

  [[nodiscard]] bool is_current(const LazyAutomaton* automaton) const noexcept;
  [[nodiscard]] std::shared_ptr<LazyAutomaton> grown() const;
  void refresh(Place& place, Allowance& allowance) const;

  const std::shared_ptr<const TokenTrie> trie_;
  const std::shared_ptr<GrammarMemory> memory_;
  const GrammarData data_;
  const std::size_t own_bytes_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<LazyAutomaton>
      automaton_;  ///< guarded; the automaton that grows; null: it was dropped
  /// A copy of the pointer, which is compared with a place's automaton without the lock.
  mutable std::atomic<const LazyAutomaton*> current_;
};

}  // namespace weft::grammar
