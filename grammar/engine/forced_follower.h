#pragma once

#include <memory>
#include <span>

#include "weft/grammar/engine/compiled_grammar.h"
#include "weft/sampling/token_constraint.h"

namespace weft::grammar {

/// One sequence's place in its grammar, for inserting tokens that the grammar forces. A step costs
/// at most defaults::kMaxForcedWork; after a step that would cost more, nothing is forced.
class ForcedFollower final : public ForcedTokens {
 public:
  explicit ForcedFollower(std::shared_ptr<const CompiledGrammar> grammar);

  void advance(std::span<const TokenId> tokens) noexcept override;
  [[nodiscard]] std::span<const TokenId> next() noexcept override;

 private:
  const std::shared_ptr<const CompiledGrammar> grammar_;
  CompiledGrammar::Place place_;
  bool lost_ = false;
};

}  // namespace weft::grammar
