#pragma once

#include <cstdint>
#include <vector>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group_table.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/step/tick.h"

namespace weft {

/// Removes from a plan that waits for its device what has become invalid, so that a PlanWriter can
/// add to it. A row released since the plan was written may soon be another sequence's, and so may
/// its pages; so no group may begin before drop_stale().
///
/// After a call the plan names no free row, samples and owners still correspond, and removed
/// results are settled with their groups.
///
/// Owner only. Allocates nothing.
class PlanAmender {
 public:
  PlanAmender(const DeviceLimits& limits, RowTable& rows, GroupTable& groups,
              RunningGroups& running);

  /// The newest plan reflects all releases up to now.
  void note_planned() noexcept { releases_planned_ = rows_.releases(); }
  /// Removes everything about rows that are free now, because their sequences have ended or given
  /// way. If such a sequence was to compute a prompt for others, their group gives way, too.
  void drop_stale(Tick& tick);
  /// Makes room in the step's time for `chat` prompts that have arrived: removes chunks of `batch`
  /// prompts from the step, which can be chosen anew. Rows and pages stay, so starts and page
  /// tables in the plan remain valid.
  void withdraw_batch_prompts(Tick& tick);

  /// Makes room in the step for prompts that have arrived: removes all guesses. Their pages stay
  /// with the sequences, which need them next.
  void take_back_guesses(Tick& tick);

  /// How many prompt tokens withdraw_batch_prompts() has removed, ever.
  [[nodiscard]] std::uint64_t withdrawn_tokens() const noexcept { return withdrawn_tokens_; }

 private:
  void preempt_forks_without_prompt(const Plan& plan);
  [[nodiscard]] bool withdraw(const PlanEntry& entry);
  template <class Goes>
  void drop_entries(Tick& tick, Goes&& goes);
  template <class Goes>
  void drop_samples(Tick& tick, Goes&& goes);
  void drop_computed(Tick& tick);

  const std::int64_t window_;
  RowTable& rows_;
  GroupTable& groups_;
  RunningGroups& running_;
  std::uint64_t releases_planned_ = 0;  // of rows, before the newest plan was written
  std::uint64_t withdrawn_tokens_ = 0;
  std::vector<std::int32_t> entry_now_;  // where an entry of the plan is after some were dropped
};

}  // namespace weft
