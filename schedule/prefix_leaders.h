#pragma once

#include <cstdint>

#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/scheduler_options.h"
#include "weft/schedule/step/step_time_model.h"

namespace weft {

/// Decides whether a group that could begin should wait for pages that a running group, its leader,
/// computes. A leader's prompt begins with the same tokens, or its encoder has the same input. The
/// leader computes the common pages first, so waiting costs the group a step and saves computing
/// those tokens.
///
/// A group waits only while its leader runs and computes. No group waits under a policy that fills
/// batches from all waiting groups, since the next batch begins after the leader's end.
///
/// Owner only. Allocates nothing. Changes only `Group::leads`.
class PrefixLeaders {
 public:
  /// Tokens of a prompt that are worth waiting a step for, until their cost has been measured.
  static constexpr std::int32_t kWorthAStep = 64;

  PrefixLeaders(const SchedulerOptions& options, KvMemory& memory, const RunningGroups& running,
                const StepTimeModel& times);

  [[nodiscard]] bool has_leader(Group& waiting) const;

 private:
  [[nodiscard]] bool can_wait(const Group& waiting) const;
  [[nodiscard]] bool still_leads(const PrefixLeader& leader) const;
  [[nodiscard]] PrefixLeader find(const Group& waiting) const;
  [[nodiscard]] bool computes_output(const Group& group) const;
  [[nodiscard]] PrefixLeader find_encoder(const Group& waiting) const;
  [[nodiscard]] bool is_worth_a_step(std::int32_t tokens) const;

  const SchedulerOptions options_;
  KvMemory& memory_;
  const RunningGroups& running_;
  const StepTimeModel& times_;
};

}  // namespace weft
