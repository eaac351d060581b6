#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/sampling/drafters/draft_sources.h"
#include "weft/sampling/drafters/draft_times.h"
#include "weft/schedule/sequence/guess_record.h"

namespace weft {

struct Sequence;

/// What a step is predicted to take, in any unit of time; in nanoseconds with a draft model.
struct GuessCosts {
  double step = 0;   ///< the tokens of all sequences that decode, without guesses; 0: not known
  double guess = 0;  ///< one guess more
  double draft = 0;  ///< what a guess of a draft model costs beside that; 0: not known
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
/// For each sequence the policy chooses how many guesses to look up, and how many a draft model
/// makes. A draft model's guesses have records of their own. Each of them also costs its share of
/// the draft model's measured time. A plan allows the larger of the two numbers, and says how many
/// of these guesses a draft model may make (Choice::drafts). The device's drafter takes a look-up,
/// or the draft model.
///
/// A draft model has to read a sequence before it guesses. A second ledger in steps, the reserve,
/// pays for reading. It begins with kFirstReserve, and gets the savings that the first ledger has
/// no room for. While the reserve is empty, the draft model guesses only for sequences that it has
/// guessed for before. So in the long run reading costs no more than kFirstReserve and what guesses
/// have saved.
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
  /// The time, in steps, that a draft model may read for before its guesses have saved any. In this
  /// time a draft model of a tenth of the model's size reads one prompt of some thousand tokens.
  static constexpr double kFirstReserve = 32;
  /// Steps in the reserve at most: enough for several such prompts at once.
  static constexpr double kMostReserve = 256;

  /// For so many sequences in a step.
  explicit GuessPolicy(std::int32_t rows) { choices_.reserve(static_cast<std::size_t>(rows)); }

  struct Choice {
    Sequence* sequence = nullptr;
    std::int32_t most = 0;         ///< guesses that it may have
    std::int32_t guesses = 0;      ///< that it gets
    double chance = 0;             ///< that a looked-up guess is right if those before it are
    std::int32_t most_drafts = 0;  ///< of `most`, guesses that a draft model may make
    std::int32_t drafts = 0;  ///< the most of `guesses` that a draft model may make in this step
    double draft_chance = 0;  ///< as `chance`, of a draft model's guesses
  };

  /// A step is planned in which sequences decode. Returns the costs by which its guesses are
  /// charged.
  const GuessCosts& begin(const GuessCosts& costs);
  /// The sequence decodes in the step, and may have up to `most` guesses, at least one. A draft
  /// model may make `most_drafts` of these, at most `most`; 0 where it cannot guess for the
  /// sequence.
  void add(Sequence& sequence, std::int32_t most, std::int32_t most_drafts = 0);
  /// Shares out at most `room` guesses among those that were added. Returns what each of these
  /// gets.
  [[nodiscard]] std::span<const Choice> share_out(std::int32_t room);

  /// Of a step's result: so many guesses were made for a sequence, and so many of them were right.
  /// `costs` are those of that step's begin(), since the next plan may have been begun meanwhile.
  void note(const GuessCosts& costs, std::int32_t made, std::int32_t right);
  /// Learns from the same numbers how often the sequence's next guesses from `source` will be
  /// right.
  void learn(Sequence& sequence, std::int32_t made, std::int32_t right,
             GuessSource source = GuessSource::kOwn);
  /// Charges the time that a draft model took in the same step, for `made` guesses and for reading.
  void note_drafting(const GuessCosts& costs, const DraftTimes& times, std::int32_t made);

  /// In steps.
  [[nodiscard]] double credit() const noexcept { return credit_; }
  [[nodiscard]] double reserve() const noexcept { return reserve_; }
  /// Nanoseconds that a draft model takes for a guess; 0: not known.
  [[nodiscard]] double draft_time() const noexcept { return draft_time_; }

 private:
  void earn(double steps);
  [[nodiscard]] double drafted_price(double price) const;
  [[nodiscard]] double price_at(double price) const;
  void take_at(double price);
  [[nodiscard]] double price_for(std::int32_t room, double low);
  [[nodiscard]] std::int32_t taken() const;
  void try_again(std::int32_t room);

  GuessCosts costs_;
  double credit_ = kMostCredit;
  double reserve_ = kFirstReserve;
  double draft_time_ = 0;
  GuessRecord all_;         // of all sequences: what a new one is expected to be like
  GuessRecord all_drafts_;  // the same of a draft model's guesses
  std::vector<Choice> choices_;
};

}  // namespace weft
