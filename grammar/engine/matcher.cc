#include "weft/grammar/engine/matcher.h"

#include <algorithm>
#include <utility>

#include "weft/grammar/defaults.h"

namespace weft::grammar {

Matcher::Matcher(std::shared_ptr<const GrammarUse> use) noexcept : use_(std::move(use)) {
  try {
    before_.resize(defaults::kMaxRollback);
    place_ = use_->grammar().start();
    note_automaton();
  } catch (...) {
    fail();
  }
}

Matcher::Matcher(const Matcher& other, int)
    : use_(other.use_),
      place_(other.place_),
      before_(other.before_),
      next_(other.next_),
      kept_(other.kept_),
      failed_(other.failed_) {
  if (place_.automaton == nullptr) place_.automaton = other.resting_.lock();
  if (place_.automaton != nullptr) note_automaton();
}

Matcher::~Matcher() {
  if (automaton_ == nullptr) return;
  place_.automaton.reset();
  use_->move(automaton_, nullptr);
}

/// Called when the allowed work or memory is used up.
void Matcher::fail() noexcept {
  failed_ = true;
  use_->give_up();
}

/// Locks the automaton for a call, until rest(). Returns false if the automaton was dropped.
bool Matcher::wake() noexcept {
  if (failed_ || use_->has_ended()) return false;
  if (place_.automaton == nullptr) place_.automaton = resting_.lock();
  return place_.automaton != nullptr;
}

/// Tells `use_` to keep the place's present automaton. The matcher cannot return to states of an
/// earlier automaton.
void Matcher::note_automaton() {
  if (place_.automaton.get() == automaton_) return;
  use_->move(automaton_, place_.automaton);
  automaton_ = place_.automaton.get();
  resting_ = place_.automaton;
  kept_ = 0;
}

void Matcher::rest() noexcept { place_.automaton.reset(); }

void Matcher::advance(std::span<const TokenId> tokens) noexcept {
  for (const TokenId token : tokens) {
    if (!wake()) return;
    try {
      const CompiledGrammar& grammar = use_->grammar();
      grammar.refresh(place_);
      note_automaton();
      keep_place();
      const std::size_t bytes = place_.automaton->bytes();
      grammar.advance(place_, token);
      note_automaton();
      if (place_.automaton->bytes() != bytes) use_->note_growth();
    } catch (...) {
      fail();
    }
  }
}

void Matcher::keep_place() noexcept {
  before_[next_] = place_.state;
  next_ = (next_ + 1) % before_.size();
  if (kept_ < before_.size()) ++kept_;
}

bool Matcher::roll_back(std::size_t tokens) noexcept {
  if (tokens > kept_) return false;
  if (tokens == 0) return true;
  next_ = (next_ + before_.size() - tokens) % before_.size();
  kept_ -= tokens;
  place_.state = before_[next_];
  return true;
}

AllowedTokens Matcher::allowed() noexcept {
  if (!wake()) return {};
  try {
    AllowedTokens allowed;
    const std::size_t bytes = place_.automaton->bytes();
    const TokenMask& mask = use_->grammar().mask(place_, allowed.may_end);
    note_automaton();
    if (place_.automaton->bytes() != bytes) use_->note_growth();
    allowed.bits = mask.bits;
    allowed.tokens = mask.tokens;
    allowed.count = mask.count;
    return allowed;
  } catch (...) {
    fail();
    return {};
  }
}

bool Matcher::is_known(std::span<const TokenId> next) const noexcept {
  if (failed_) return true;
  if (place_.automaton != nullptr) return use_->grammar().is_known(place_, next);
  const CompiledGrammar::Place place{resting_.lock(), place_.state};
  return place.automaton == nullptr || use_->grammar().is_known(place, next);
}

std::unique_ptr<ConstraintState> Matcher::clone() const {
  return std::unique_ptr<ConstraintState>(new Matcher(*this, 0));
}

}  // namespace weft::grammar
