#include "weft/schedule/step/guess_policy.h"

#include <algorithm>
#include <cmath>

#include "weft/schedule/sequence/sequence.h"

namespace weft {
namespace {

/// What all sequences' guesses are expected to be before anything is known.
constexpr double kFirstChance = 0.5;
/// Part of a token's share of a step that a guess costs at least. Noise may hide such a cost, and a
/// guess that cost nothing would be made however seldom it is right.
constexpr double kLeastCost = 0.02;
/// Rounds of Dinkelbach's iteration, which about squares its error in each.
constexpr int kRounds = 4;
/// Rounds of a bisection between two prices: probabilities of guesses are known less exactly.
constexpr int kBisections = 12;

/// Returns how many guesses of this chance are right with at least probability `price`.
std::int32_t worth(double chance, std::int32_t most, double price) {
  std::int32_t count = 0;
  for (double right = chance; count < most && right >= price; right *= chance) ++count;
  return count;
}

/// Returns how many of so many guesses are expected to be right.
double expected_right(double chance, std::int32_t guesses) {
  double sum = 0;
  double right = chance;
  for (std::int32_t i = 0; i < guesses; ++i, right *= chance) sum += right;
  return sum;
}

/// Whether the sequence may be tried again: not before it is known what became of its last try.
bool may_try(const Sequence& sequence, const GuessRecord& record) {
  const Progress& progress = sequence.progress;
  return progress.guesses() == 0 && !record.rests(progress.known());
}

/// What a draft model's measured time keeps of its weight when a new one comes: a memory of five
/// steps.
constexpr double kKeepOfDraftTime = 0.8;
/// A measured time counts as at most so many times the known time. A longer time is mostly a
/// disturbance, and would use up the ledger.
constexpr double kMostGrowth = 2;

}  // namespace

const GuessCosts& GuessPolicy::begin(const GuessCosts& costs) {
  costs_ = costs;
  costs_.guess = std::max(costs.guess, kLeastCost * costs.step / std::max(costs.rows, 1));
  costs_.draft = draft_time_;
  earn(kSpent);
  choices_.clear();
  return costs_;
}

/// Adds steps to the ledger. The steps that the ledger has no room for go to the reserve.
void GuessPolicy::earn(double steps) {
  credit_ += steps;
  reserve_ = std::min(reserve_ + std::max(credit_ - kMostCredit, 0.0), kMostReserve);
  credit_ = std::min(credit_, kMostCredit);
}

void GuessPolicy::add(Sequence& sequence, std::int32_t most, std::int32_t most_drafts) {
  Choice& choice = choices_.emplace_back();
  choice.sequence = &sequence;
  choice.most = most;
  choice.chance = sequence.guess_record.chance(all_.chance(kFirstChance));
  if (reserve_ > 0 || sequence.is_drafted) choice.most_drafts = most_drafts;
  choice.draft_chance = sequence.draft_record.chance(all_drafts_.chance(kFirstChance));
}

std::span<const GuessPolicy::Choice> GuessPolicy::share_out(std::int32_t room) {
  if (credit_ <= 0) return choices_;
  double price = 0;
  take_at(price);
  if (costs_.step > 0) {
    price = costs_.guess * costs_.rows / costs_.step;
    for (int round = 0; round < kRounds; ++round) {
      take_at(price);
      price = price_at(price);
    }
  }
  if (taken() > room) take_at(price_for(room, price));
  for (Choice& choice : choices_) {
    choice.guesses = std::min(choice.guesses, room);
    choice.drafts = std::min(choice.drafts, choice.guesses);
    room -= choice.guesses;
  }
  try_again(room);
  return choices_;
}

/// Returns a price above `low` at which there is room for those that are taken.
double GuessPolicy::price_for(std::int32_t room, double low) {
  double high = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double price = (low + high) / 2;
    take_at(price);
    (taken() > room ? low : high) = price;
  }
  return high;
}

/// Returns the price of a guess beside those that are taken.
double GuessPolicy::price_at(double price) const {
  double tokens = costs_.rows;
  double time = costs_.step;
  for (const Choice& choice : choices_) {
    // The draft model has guesses for each sequence, a look-up seldom.
    if (choice.drafts > 0) {
      tokens += expected_right(choice.draft_chance, choice.drafts);
      time += (costs_.guess + costs_.draft) * choice.drafts;
    } else {
      tokens += expected_right(choice.chance, choice.guesses);
      time += costs_.guess * choice.guesses;
    }
  }
  return std::max(price, costs_.guess * tokens / time);
}

/// Returns the price of a draft model's guess where a looked-up one has this price.
double GuessPolicy::drafted_price(double price) const {
  return price * (costs_.guess + costs_.draft) / costs_.guess;
}

void GuessPolicy::take_at(double price) {
  // What a draft model costs is measured first, in tries.
  const bool drafts = costs_.step > 0 && costs_.draft > 0;
  for (Choice& choice : choices_) {
    choice.guesses = worth(choice.chance, choice.most, price);
    choice.drafts =
        drafts ? worth(choice.draft_chance, choice.most_drafts, drafted_price(price)) : 0;
    choice.guesses = std::max(choice.guesses, choice.drafts);
  }
}

std::int32_t GuessPolicy::taken() const {
  std::int32_t sum = 0;
  for (const Choice& choice : choices_) sum += choice.guesses;
  return sum;
}

/// Gives a few guesses to those that have none, as far as the credit goes.
void GuessPolicy::try_again(std::int32_t room) {
  const double each = costs_.step > 0 ? costs_.guess / costs_.step : 0;
  // Before a draft model's guess was measured it counts as a token.
  const double draft = costs_.draft > 0 ? costs_.draft : costs_.step / std::max(costs_.rows, 1);
  const double drafted = costs_.step > 0 ? draft / costs_.step : 0;
  double left = credit_;
  for (Choice& choice : choices_) {
    if (left <= 0) return;
    const Sequence& sequence = *choice.sequence;
    const std::int32_t most = std::min({kTries, choice.most, choice.guesses + room});
    const std::int32_t before = choice.guesses;
    if (before == 0 && may_try(sequence, sequence.guess_record)) choice.guesses = most;
    if (choice.drafts == 0 && choice.most_drafts > 0 && may_try(sequence, sequence.draft_record)) {
      choice.drafts = std::min(most, choice.most_drafts);
      choice.guesses = std::max(choice.guesses, choice.drafts);
      left -= drafted * choice.drafts;
    }
    room -= choice.guesses - before;
    left -= each * (choice.guesses - before);
  }
}

void GuessPolicy::note(const GuessCosts& costs, std::int32_t made, std::int32_t right) {
  if (made == 0 || costs.step <= 0) return;
  earn(static_cast<double>(right) / costs.rows - made * costs.guess / costs.step);
}

void GuessPolicy::note_drafting(const GuessCosts& costs, const DraftTimes& times,
                                std::int32_t made) {
  auto drafting = static_cast<double>(times.drafting.count());
  if (made > 0 && drafting > 0) {
    // Before the first measurement a guess is taken to cost as much as a token.
    const double known = draft_time_ > 0 ? draft_time_ : costs.step / std::max(costs.rows, 1);
    const double most = known > 0 ? kMostGrowth * known : drafting;
    const double each = std::min(drafting / made, most);
    draft_time_ = draft_time_ > 0 ? std::lerp(each, draft_time_, kKeepOfDraftTime) : each;
    drafting = each * made;
  }
  if (costs.step <= 0) return;
  credit_ -= drafting / costs.step;
  reserve_ -= static_cast<double>(times.reading.count()) / costs.step;
}

void GuessPolicy::learn(Sequence& sequence, std::int32_t made, std::int32_t right,
                        GuessSource source) {
  const bool drafted = source == GuessSource::kModel;
  if (drafted && made > 0) sequence.is_drafted = true;
  (drafted ? sequence.draft_record : sequence.guess_record)
      .learn(made, right, sequence.progress.known());
  (drafted ? all_drafts_ : all_).learn(made, right, 0);
}

}  // namespace weft
