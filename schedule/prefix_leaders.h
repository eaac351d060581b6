#pragma once

#include <cstdint>

#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/scheduler_options.h"
#include "weft/schedule/step/step_time_model.h"

namespace weft {

/// Decides whether a group that could begin had better wait for pages that a running one computes:
/// a leader, whose prompt begins alike, or whose encoder's input is the same. The leader is before
/// it in the steps' time, so what they have alike is there first from the leader; to wait costs the
/// group a step, and saves the tokens.
///
/// A group waits only while its leader runs and computes. Nobody waits under a policy that fills
/// batches from all that wait, as the next batch begins when the leader has ended.
///
/// Owner only. Allocates nothing. Reads what it was given, and changes `Group::leads` alone.
class PrefixLeaders {
 public:
  /// Tokens of a prompt that are worth waiting a step for while nobody knows what they cost.
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
