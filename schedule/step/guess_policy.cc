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
bool may_try(const Sequence& sequence) {
  const Progress& progress = sequence.progress;
  return progress.guesses() == 0 && !sequence.guess_record.rests(progress.known());
}

}  // namespace

const GuessCosts& GuessPolicy::begin(const GuessCosts& costs) {
  costs_ = costs;
  costs_.guess = std::max(costs.guess, kLeastCost * costs.step / std::max(costs.rows, 1));
  credit_ = std::min(credit_ + kSpent, kMostCredit);
  choices_.clear();
  return costs_;
}

void GuessPolicy::add(Sequence& sequence, std::int32_t most) {
  choices_.push_back({&sequence, most, 0, sequence.guess_record.chance(all_.chance(kFirstChance))});
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
    tokens += expected_right(choice.chance, choice.guesses);
    time += costs_.guess * choice.guesses;
  }
  return std::max(price, costs_.guess * tokens / time);
}

void GuessPolicy::take_at(double price) {
  for (Choice& choice : choices_) choice.guesses = worth(choice.chance, choice.most, price);
}

std::int32_t GuessPolicy::taken() const {
  std::int32_t sum = 0;
  for (const Choice& choice : choices_) sum += choice.guesses;
  return sum;
}

/// Gives a few guesses to those that have none, as far as the credit goes.
void GuessPolicy::try_again(std::int32_t room) {
  const double each = costs_.step > 0 ? costs_.guess / costs_.step : 0;
  double left = credit_;
  for (Choice& choice : choices_) {
    if (room == 0 || left <= 0) return;
    if (choice.guesses > 0 || !may_try(*choice.sequence)) continue;
    choice.guesses = std::min({kTries, choice.most, room});
    room -= choice.guesses;
    left -= each * choice.guesses;
  }
}

void GuessPolicy::note(const GuessCosts& costs, std::int32_t made, std::int32_t right) {
  if (made == 0 || costs.step <= 0) return;
  credit_ += static_cast<double>(right) / costs.rows - made * costs.guess / costs.step;
  credit_ = std::min(credit_, kMostCredit);
}

void GuessPolicy::learn(Sequence& sequence, std::int32_t made, std::int32_t right) {
  sequence.guess_record.learn(made, right, sequence.progress.known());
  all_.learn(made, right, 0);
}

}  // namespace weft
