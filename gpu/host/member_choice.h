#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace weft {

/// Chooses by trial how many members of a team run a step, so that the step takes the shortest
/// time. More members are slower if a step is small, or if other programs keep the processors busy.
/// Steps of similar cost are judged together, because small steps need fewer members.
///
/// A trial compares the present number with its half or its double, in alternating steps. It is
/// given up after two steps if the other number is much slower. Trials become rare while they
/// change nothing. They are repeated at once when steps become slower or faster than before. Owner
/// only; reads no clock.
class MemberChoice {
 public:
  /// `most` is the most members.
  explicit MemberChoice(int most);

  /// Returns how many members run the next step, which would take one thread `cost` nanoseconds.
  [[nodiscard]] int next(double cost) noexcept;

  /// Reports how long that step took. Call it once after each next().
  void took(std::chrono::nanoseconds time) noexcept;

 private:
  /// Steps of similar cost.
  struct Kind {
    int members = 0;
    int rival = 0;  // 0: no trial is running
    bool rival_is_larger = false;
    int trial_steps = 0;   // finished steps of the running trial
    double rival_sum = 0;  // sum of time over cost in the trial
    double own_sum = 0;
    double level = 0;          // recent time over cost with `members`; 0: not known
    double settled_level = 0;  // `level` when the last trial ended
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
