#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/schedule/sequence/guess_record.h"

namespace weft {

struct Sequence;

/// What a step is predicted to take, in any unit of time.
struct GuessCosts {
  double step = 0;   ///< the tokens of all sequences that decode, without guesses; 0: not known
  double guess = 0;  ///< one guess more
  std::int32_t rows = 0;  ///< sequences that decode
};

/// Decides how many guesses each sequence gets in a step, so that guesses are made where they pay
/// and cost next to nothing where they do not.
///
/// The i-th guess of a sequence is right if all guesses before it are: with probability chance^i,
/// by what became of the sequence's guesses so far (GuessRecord). Of all guesses that sequences may
/// have, share_out() takes the set with the most expected tokens for a step's predicted time. This
/// is a fractional programme, solved by Dinkelbach's iteration (Management Science 13(7), 1967): a
/// guess is taken if its probability is at least its price, which is its cost times the tokens for
/// a time that the set before has.
///
/// A ledger bounds what wrong predictions cost. Its unit is a step without guesses. Each step adds
/// kSpent, each guess made takes off its cost, each right guess adds the share of a step that it
/// saves. Without credit no guess is made. So over n steps guesses cost no more than kSpent * n +
/// kMostCredit, and what two plans under way spend beyond their credit.
///
/// A sequence whose guesses do not pay is tried again now and then, on credit, with kTries guesses:
/// soon after a right one, and more rarely the longer all are wrong (GuessRecord::rests()).
///
/// Pure: what it decides follows from what it is told. Owner only. Allocates nothing after it was
/// made.
class GuessPolicy {
 public:
  /// Part of the steps that guesses may cost in the long run.
  static constexpr double kSpent = 0.005;
  /// Steps that guesses may cost at once: at the beginning, and where they stop paying.
  static constexpr double kMostCredit = 8;
  /// Guesses of a try: a match of the drafter is seldom right for one token alone.
  static constexpr std::int32_t kTries = 2;

  /// For so many sequences in a step.
  explicit GuessPolicy(std::int32_t rows) { choices_.reserve(static_cast<std::size_t>(rows)); }

  struct Choice {
    Sequence* sequence = nullptr;
    std::int32_t most = 0;     ///< guesses that it may have
    std::int32_t guesses = 0;  ///< that it gets
    double chance = 0;         ///< that a guess is right if those before it are
  };

  /// A step is planned in which sequences decode. Returns the costs by which its guesses are
  /// charged.
  const GuessCosts& begin(const GuessCosts& costs);
  /// The sequence decodes in it, and may have up to `most` guesses, at least one.
  void add(Sequence& sequence, std::int32_t most);
  /// Shares out at most `room` guesses among those that were added. Returns what each of these
  /// gets.
  [[nodiscard]] std::span<const Choice> share_out(std::int32_t room);

  /// Of a step's result: so many guesses were made for a sequence, and so many of them were right.
  /// `costs` are those of that step's begin(), since the next plan may have been begun meanwhile.
  void note(const GuessCosts& costs, std::int32_t made, std::int32_t right);
  /// The same, for what the sequence's next guesses are expected to be.
  void learn(Sequence& sequence, std::int32_t made, std::int32_t right);

  /// In steps.
  [[nodiscard]] double credit() const noexcept { return credit_; }

 private:
  [[nodiscard]] double price_at(double price) const;
  void take_at(double price);
  [[nodiscard]] double price_for(std::int32_t room, double low);
  [[nodiscard]] std::int32_t taken() const;
  void try_again(std::int32_t room);

  GuessCosts costs_;
  double credit_ = kMostCredit;
  GuessRecord all_;  // of all sequences: what a new one is expected to be like
  std::vector<Choice> choices_;
};

}  // namespace weft
