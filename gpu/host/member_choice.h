#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace weft {

/// How many members of a team do a step: as many as make it the shortest, by trial. More are slower
/// where a step is small, and where other programs keep the processors busy. Steps of like cost are
/// looked at together, since small ones want fewer members.
///
/// A trial compares the present number with its half or its double, in steps that alternate, and is
/// given up after two steps when the other is much slower. Trials become rare while they change
/// nothing, and are made again at once when steps become slower or faster than they were. Owner
/// only; knows no clock.
class MemberChoice {
 public:
  /// `most` members at most.
  explicit MemberChoice(int most);

  /// How many members shall do the next step, of which one thread would take `cost` nanoseconds.
  [[nodiscard]] int next(double cost) noexcept;

  /// How long that step took. Once after each next().
  void took(std::chrono::nanoseconds time) noexcept;

 private:
  /// Steps of like cost.
  struct Kind {
    int members = 0;
    int rival = 0;  // 0: no trial is under way
    bool rival_is_larger = false;
    int trial_steps = 0;   // of the trial under way that are done
    double rival_sum = 0;  // time by cost, of the trial
    double own_sum = 0;
    double level = 0;          // time by cost with `members`, lately; 0: not known
    double settled_level = 0;  // the same when the last trial ended
    int until_trial = 0;
    int gap = 0;  // steps between two trials
  };

  [[nodiscard]] static bool is_rivals_turn(const Kind& kind) noexcept;
  void begin_trial(Kind& kind) const noexcept;
  void judge(Kind& kind) const noexcept;
  void end_trial(Kind& kind, bool rival_wins) const noexcept;
  void watch(Kind& kind, double time) const noexcept;

  static constexpr std::size_t kKinds = 24;  // powers of two of microseconds: up to 8 seconds

  const int most_;
  std::array<Kind, kKinds> kinds_{};
  std::size_t last_ = 0;
  double cost_ = 1;
};

}  // namespace weft
