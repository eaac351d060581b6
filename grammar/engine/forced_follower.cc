#include "weft/grammar/engine/forced_follower.h"

#include <utility>

#include "weft/grammar/defaults.h"

namespace weft::grammar {
namespace {

constexpr Allowance kForcedAllowance{defaults::kMaxForcedWork, defaults::kMaxForcedStates};

}  // namespace

ForcedFollower::ForcedFollower(std::shared_ptr<const CompiledGrammar> grammar)
    : grammar_(std::move(grammar)), place_(grammar_->start()) {}

void ForcedFollower::advance(std::span<const TokenId> tokens) noexcept {
  try {
    for (const TokenId token : tokens) {
      if (!lost_) grammar_->advance(place_, token, kForcedAllowance);
    }
  } catch (...) {
    lost_ = true;
  }
}

std::span<const TokenId> ForcedFollower::next() noexcept {
  if (lost_) return {};
  try {
    return grammar_->forced(place_, kForcedAllowance);
  } catch (...) {
    lost_ = true;
    return {};
  }
}

}  // namespace weft::grammar
