#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

class GrammarStore;

/// One request's use of a compiled grammar. Until end(), it keeps alive the automata that the
/// request's matchers are in. Matchers hold them only weakly from rest() to the next call, because
/// a matcher may stay in a device's row after its request has ended. Thread-safe.
class GrammarUse final : public TokenConstraint, public std::enable_shared_from_this<GrammarUse> {
 public:
  /// `store` counts the uses of its grammars and makes room for them; null: there is no store.
  explicit GrammarUse(std::shared_ptr<const CompiledGrammar> grammar,
                      std::shared_ptr<GrammarStore> store = nullptr);
  GrammarUse(const GrammarUse&) = delete;
  GrammarUse& operator=(const GrammarUse&) = delete;
  ~GrammarUse() override;

  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override;
  /// Returns null when the first state is too much work.
  [[nodiscard]] std::unique_ptr<ForcedTokens> follow() const override;
  /// Releases the automata. A matcher that is asked afterwards allows nothing.
  void end() const noexcept override;
  [[nodiscard]] bool gave_up() const noexcept override { return gave_up_.load(); }

  [[nodiscard]] const CompiledGrammar& grammar() const noexcept { return *grammar_; }
  [[nodiscard]] bool has_ended() const noexcept { return ended_.load(); }
  /// Notes that a matcher met more work than is allowed, or found no memory.
  void give_up() const noexcept { gave_up_.store(true); }
  /// Notes that a matcher has moved from one automaton to another; null: the matcher begins, or
  /// ends. May throw bad_alloc, and has then changed nothing.
  void move(const LazyAutomaton* from, std::shared_ptr<LazyAutomaton> to) const;
  /// Called when new states or masks were made: makes room where memory is full.
  void note_growth() const noexcept;

 private:
  struct Held {
    std::shared_ptr<LazyAutomaton> automaton;
    std::size_t matchers = 0;
  };

  const std::shared_ptr<const CompiledGrammar> grammar_;
  const std::shared_ptr<GrammarStore> store_;
  mutable std::atomic<bool> gave_up_{false};
  mutable std::mutex mutex_;
  mutable std::vector<Held> held_;  ///< guarded
  mutable std::atomic<bool> ended_{false};
};

}  // namespace weft::grammar
