#include "weft/schedule/step/plan_amender.h"

#include <cstddef>
#include <utility>

namespace weft {

PlanAmender::PlanAmender(const DeviceLimits& limits, RowTable& rows, GroupTable& groups,
                         RunningGroups& running)
    : window_(limits.window), rows_(rows), groups_(groups), running_(running) {
  entry_now_.reserve(static_cast<std::size_t>(limits.rows));
}

void PlanAmender::drop_stale(Tick& tick) {
  if (rows_.releases() == releases_planned_) return;
  Plan& plan = tick.plan;
  preempt_forks_without_prompt(plan);
  note_planned();
  const auto stands_in_free_row = [this](const auto& one) { return rows_.is_free(one.row); };
  std::erase_if(plan.starts, stands_in_free_row);
  std::erase_if(plan.tables, stands_in_free_row);
  std::erase_if(plan.restores, stands_in_free_row);
  std::erase_if(plan.encodes, stands_in_free_row);
  std::erase_if(plan.forks, [this](const PlanFork& fork) { return rows_.is_free(fork.to); });
  drop_entries(tick, [this](std::int32_t row) { return rows_.is_free(row); });
}

void PlanAmender::preempt_forks_without_prompt(const Plan& plan) {
  for (const PlanFork& fork : plan.forks) {
    if (rows_.is_free(fork.from) && !rows_.is_free(fork.to)) {
      running_.preempt(*rows_.at(fork.to).group);
    }
  }
}

/// Removes entries and samples of rows that are released.
template <class Goes>
void PlanAmender::drop_entries(Tick& tick, Goes&& goes) {
  Plan& plan = tick.plan;
  entry_now_.clear();
  std::int32_t kept = 0;
  for (const PlanEntry& entry : plan.entries) {
    const bool gone = goes(entry.row);
    entry_now_.push_back(gone ? -1 : kept);
    kept += gone ? 0 : 1;
  }
  std::erase_if(plan.entries, [&](const PlanEntry& entry) { return goes(entry.row); });
  std::erase_if(plan.snapshots, [&](const PlanSnapshot& one) { return goes(one.row); });
  tick.shape = shape_of(plan, window_);
  drop_samples(tick, goes);
  drop_computed(tick);
}

/// A released sequence has another serial number, and a withdrawn one is in no plan.
void PlanAmender::drop_computed(Tick& tick) {
  std::erase_if(tick.computed, [this](const SampleOwner& owner) {
    const Sequence& sequence = owner.group->sequences[static_cast<std::size_t>(owner.sequence)];
    const bool stays =
        sequence.under_way.serial() == owner.serial && sequence.under_way.last_tick() > 0;
    if (!stays) groups_.settle_result(*owner.group);
    return !stays;
  });
}

/// The entry of each remaining sample has stayed: sequences that share a prompt's logits leave
/// together, or the first leaves and then the others have given way.
template <class Goes>
void PlanAmender::drop_samples(Tick& tick, Goes&& goes) {
  auto& samples = tick.plan.samples;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const SampleOwner owner = tick.owners[i];
    if (goes(samples[i].row)) {
      groups_.settle_result(*owner.group);
      continue;
    }
    const auto entry = static_cast<std::size_t>(samples[i].entry);
    samples[kept] = {entry_now_[entry], samples[i].row};
    tick.owners[kept] = owner;
    ++kept;
  }
  samples.resize(kept);
  tick.owners.resize(kept);
}

void PlanAmender::withdraw_batch_prompts(Tick& tick) {
  bool any = false;
  for (const PlanEntry& entry : tick.plan.entries) any = withdraw(entry) || any;
  if (!any) return;
  drop_entries(
      tick, [this](std::int32_t row) { return rows_.sequence_in(row).under_way.last_tick() == 0; });
}

void PlanAmender::take_back_guesses(Tick& tick) {
  for (PlanEntry& entry : tick.plan.entries) {
    if (entry.guesses == 0) continue;
    rows_.sequence_in(entry.row).progress.take_back_guesses(entry.guesses);
    entry.count -= std::exchange(entry.guesses, 0);
    entry.drafts = 0;
  }
  tick.shape = shape_of(tick.plan, window_);
}

/// Restores the entry's sequence to its state before the plan, if it computes a prompt of `batch`
/// that no other sequence shares.
bool PlanAmender::withdraw(const PlanEntry& entry) {
  Group& group = *rows_.at(entry.row).group;
  const bool plain = group.spec.sequences == 1 && group.spec.encoder_input.empty();
  Sequence& sequence = rows_.sequence_in(entry.row);
  const std::int32_t given = entry.count - entry.guesses;
  const bool decodes = given == 1 || group.is_jump(sequence, entry.start, given);
  if (group.cls != RequestClass::kBatch || !plain || decodes) return false;
  sequence.progress.take_back(entry.count);
  running_.take_back_snapshot(sequence);
  sequence.under_way.take_back();  // it computes known tokens, so no other plan feeds it
  rows_.set_decodes(entry.row, false);
  if (sequence.progress.planned() < group.prompt_tokens()) group.phase = GroupPhase::kPrompt;
  withdrawn_tokens_ += static_cast<std::uint64_t>(entry.count);
  return true;
}

}  // namespace weft
