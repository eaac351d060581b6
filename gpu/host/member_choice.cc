#include "weft/gpu/host/member_choice.h"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

/// Nanoseconds of work below which one thread does a step alone: waking another thread takes as
/// long.
constexpr double kWorthAThread = 40'000;
/// Steps of a trial. They are pairs of steps, one with each number of members.
constexpr int kTrialSteps = 8;
/// A rival that is slower by this factor is given up after the first pair: a trial then costs one
/// step.
constexpr double kHopeless = 1.15;
/// The rival must take at most this part of the time; a smaller gain is noise.
constexpr double kWins = 0.97;
/// Steps before the first trial, and the most steps between two trials. A trial with half the
/// members that is twice as slow costs one step in kMostGap.
constexpr int kFirstGap = 64;
constexpr int kMostGap = 1024;
/// Larger numbers are tried more often, so that a team is whole again soon after a busy program has
/// ended. A trial that fails costs one slow step.
constexpr int kMostGapForMore = 64;
/// A change of the time that is worth a trial, and the weight of the newest step in the average.
constexpr double kDrift = 1.25;
constexpr double kNewest = 1.0 / 8;
constexpr int kLeastGap = 16;

std::size_t kind_of(double cost, std::size_t kinds) {
  const auto microseconds = static_cast<std::uint64_t>(std::max(cost, 0.0) / 1000);
  return std::min(static_cast<std::size_t>(std::bit_width(microseconds)), kinds - 1);
}

}  // namespace

MemberChoice::MemberChoice(int most) : most_(std::max(most, 1)) {
  for (Kind& kind : kinds_) {
    kind.members = most_;
    kind.gap = kind.until_trial = kFirstGap;
  }
}

bool MemberChoice::is_rivals_turn(const Kind& kind) noexcept {
  // Rival, own, own, rival: a drift of the times affects both alike.
  const int at = kind.trial_steps % 4;
  return kind.rival != 0 && (at == 0 || at == 3);
}

int MemberChoice::next(double cost) noexcept {
  cost_ = std::max(cost, 1.0);
  last_ = kind_of(cost, kKinds);
  if (most_ == 1 || cost < kWorthAThread) return 1;
  Kind& kind = kinds_[last_];
  if (kind.rival == 0 && kind.until_trial <= 0) begin_trial(kind);
  return is_rivals_turn(kind) ? kind.rival : kind.members;
}

void MemberChoice::took(std::chrono::nanoseconds time) noexcept {
  if (most_ == 1 || cost_ < kWorthAThread) return;
  Kind& kind = kinds_[last_];
  const double by_cost = static_cast<double>(time.count()) / cost_;
  if (kind.rival == 0) return watch(kind, by_cost);
  (is_rivals_turn(kind) ? kind.rival_sum : kind.own_sum) += by_cost;
  ++kind.trial_steps;
  if (kind.trial_steps % 2 == 0) judge(kind);
}

void MemberChoice::begin_trial(Kind& kind) const noexcept {
  const bool can_grow = kind.members < most_;
  const bool can_shrink = kind.members > 1;
  kind.rival_is_larger = can_grow && (!can_shrink || !kind.rival_is_larger);
  kind.rival = kind.rival_is_larger ? std::min(kind.members * 2, most_) : (kind.members + 1) / 2;
  kind.trial_steps = 0;
  kind.rival_sum = kind.own_sum = 0;
}

void MemberChoice::judge(Kind& kind) const noexcept {
  if (kind.trial_steps == 2 && kind.rival_sum > kind.own_sum * kHopeless) {
    return end_trial(kind, false);
  }
  if (kind.trial_steps == kTrialSteps) end_trial(kind, kind.rival_sum < kind.own_sum * kWins);
}

void MemberChoice::end_trial(Kind& kind, bool rival_wins) const noexcept {
  const double steps = kind.trial_steps / 2.0;
  kind.level = kind.settled_level = (rival_wins ? kind.rival_sum : kind.own_sum) / steps;
  if (rival_wins) {
    kind.members = kind.rival;
    // The next trial goes in the same direction: begin_trial() flips this.
    kind.rival_is_larger = !kind.rival_is_larger;
    kind.gap = kLeastGap;
  } else {
    const bool grows_next = kind.members < most_;
    kind.gap = std::min(kind.gap * 2, grows_next ? kMostGapForMore : kMostGap);
  }
  kind.rival = 0;
  kind.until_trial = kind.gap;
}

void MemberChoice::watch(Kind& kind, double time) const noexcept {
  --kind.until_trial;
  kind.level = kind.level == 0 ? time : kind.level + (time - kind.level) * kNewest;
  if (kind.settled_level == 0) return;
  const bool drifted =
      kind.level > kind.settled_level * kDrift || kind.level < kind.settled_level / kDrift;
  if (drifted && kind.gap - kind.until_trial >= kLeastGap) {
    kind.gap = kLeastGap;
    kind.until_trial = 0;
  }
}

}  // namespace weft
