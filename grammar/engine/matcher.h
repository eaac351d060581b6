#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// Where one sequence is in its grammar. It can take back defaults::kMaxRollback tokens. A step
/// that is known already takes some tens of nanoseconds and no lock; one that is not as long as
/// defaults::kMaxWork allows, after which nothing is allowed.
class Matcher final : public ConstraintState {
 public:
  explicit Matcher(std::shared_ptr<const CompiledGrammar> grammar);

  void advance(std::span<const TokenId> tokens) noexcept override;
  bool roll_back(std::size_t tokens) noexcept override;
  [[nodiscard]] AllowedTokens allowed() noexcept override;
  [[nodiscard]] bool is_known(std::span<const TokenId> next) const noexcept override;
  [[nodiscard]] std::unique_ptr<ConstraintState> clone() const override;

 private:
  void keep_place() noexcept;
  Matcher(const Matcher& other, int);

  const std::shared_ptr<const CompiledGrammar> grammar_;
  CompiledGrammar::Place place_;
  std::vector<LazyAutomaton::State> before_;  ///< a ring of those that can be come back to
  std::shared_ptr<LazyAutomaton> of_before_;  ///< which these are of
  std::size_t next_ = 0;                      ///< in before_
  std::size_t kept_ = 0;
  bool failed_ = false;
};

}  // namespace weft::grammar
