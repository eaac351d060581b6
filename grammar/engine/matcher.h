#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/grammar/engine/grammar_use.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// One sequence's place in its grammar. It can take back defaults::kMaxRollback tokens, except
/// tokens from before its states were last dropped. A known step takes some tens of nanoseconds and
/// no lock; a new step takes as long as defaults::kMaxWork allows. Beyond that, nothing is allowed
/// and GrammarUse::gave_up() says so.
class Matcher final : public ConstraintState {
 public:
  explicit Matcher(std::shared_ptr<const GrammarUse> use) noexcept;
  ~Matcher() override;

  void advance(std::span<const TokenId> tokens) noexcept override;
  bool roll_back(std::size_t tokens) noexcept override;
  [[nodiscard]] AllowedTokens allowed() noexcept override;
  [[nodiscard]] bool is_known(std::span<const TokenId> next) const noexcept override;
  void rest() noexcept override;
  [[nodiscard]] std::unique_ptr<ConstraintState> clone() const override;

 private:
  Matcher(const Matcher& other, int);

  [[nodiscard]] bool wake() noexcept;
  void note_automaton();
  void keep_place() noexcept;
  void fail() noexcept;

  const std::shared_ptr<const GrammarUse> use_;
  CompiledGrammar::Place place_;              ///< its automaton is null while it rests
  std::weak_ptr<LazyAutomaton> resting_;      ///< the automaton, which `use_` keeps
  const LazyAutomaton* automaton_ = nullptr;  ///< the automaton that `use_` has counted
  std::vector<LazyAutomaton::State> before_;  ///< a ring of the states that the matcher can return
                                              ///< to
  std::size_t next_ = 0;                      ///< index in before_
  std::size_t kept_ = 0;
  bool failed_ = false;
};

}  // namespace weft::grammar
