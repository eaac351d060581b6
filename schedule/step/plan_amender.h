#pragma once

#include <cstdint>
#include <vector>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group_table.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/step/tick.h"

namespace weft {

/// Takes out of a plan that waits for its device what does not hold any more, so that a PlanWriter
/// can add to it. A row that was given back since the plan was written may be another's, and its
/// pages too; so nothing may begin before drop_stale().
///
/// What holds after a call: the plan names no row that is free; samples and owners still
/// correspond, and a result that was taken out is settled with its group.
///
/// Owner only. Allocates nothing.
class PlanAmender {
 public:
  PlanAmender(const DeviceLimits& limits, RowTable& rows, GroupTable& groups,
              RunningGroups& running);

  /// Everything that was given back until now is known to the newest plan.
  void note_planned() noexcept { releases_planned_ = rows_.releases(); }
  /// Takes out what the plan says of rows that are free now: their sequences have ended or given
  /// way. A group whose prompt one of these was to compute for others gives way, too.
  void drop_stale(Tick& tick);
  /// Makes room in the step's time for prompts of `chat` that have come since: what the step was to
  /// compute of batch's prompts is taken out, and can be chosen anew. Rows and pages stay, so
  /// starts and page tables in the plan hold.
  void withdraw_batch_prompts(Tick& tick);

  /// Makes room in the step for prompts that have come since: all guesses are taken out. Pages that
  /// they got stay with their sequences, which need them next.
  void take_back_guesses(Tick& tick);

  /// How many tokens of prompts were taken out by withdraw_batch_prompts(), ever.
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
