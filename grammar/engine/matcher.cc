#include "weft/grammar/engine/matcher.h"

#include <algorithm>
#include <utility>

#include "weft/grammar/defaults.h"

namespace weft::grammar {

Matcher::Matcher(std::shared_ptr<const CompiledGrammar> grammar)
    : grammar_(std::move(grammar)), place_(grammar_->start()), before_(defaults::kMaxRollback) {}

Matcher::Matcher(const Matcher& other, int)
    : grammar_(other.grammar_),
      place_(other.place_),
      before_(other.before_),
      of_before_(other.of_before_),
      next_(other.next_),
      kept_(other.kept_),
      failed_(other.failed_) {}

void Matcher::advance(std::span<const TokenId> tokens) noexcept {
  for (const TokenId token : tokens) {
    keep_place();
    next_ = (next_ + 1) % before_.size();
    if (kept_ < before_.size()) ++kept_;
    try {
      if (!failed_) grammar_->advance(place_, token);
    } catch (...) {
      failed_ = true;
    }
  }
}

/// States keep their automaton alive, so none is kept from before the states were dropped.
void Matcher::keep_place() noexcept {
  if (of_before_ != place_.automaton) {
    of_before_ = place_.automaton;
    kept_ = 0;
  }
  before_[next_] = place_.state;
}

bool Matcher::roll_back(std::size_t tokens) noexcept {
  if (tokens > kept_) return false;
  if (tokens == 0) return true;
  next_ = (next_ + before_.size() - tokens) % before_.size();
  kept_ -= tokens;
  place_ = {of_before_, before_[next_]};
  return true;
}

AllowedTokens Matcher::allowed() noexcept {
  if (failed_) return {};
  try {
    AllowedTokens allowed;
    const TokenMask& mask = grammar_->mask(place_, allowed.may_end);
    allowed.bits = mask.bits;
    allowed.tokens = mask.tokens;
    allowed.count = mask.count;
    return allowed;
  } catch (...) {
    failed_ = true;
    return {};
  }
}

bool Matcher::is_known(std::span<const TokenId> next) const noexcept {
  return failed_ || grammar_->is_known(place_, next);
}

std::unique_ptr<ConstraintState> Matcher::clone() const {
  return std::unique_ptr<ConstraintState>(new Matcher(*this, 0));
}

}  // namespace weft::grammar
