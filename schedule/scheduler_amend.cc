// Changing a plan that waits for its device.

#include <algorithm>
#include <utility>

#include "weft/schedule/scheduler.h"

namespace weft {

void Scheduler::amend(TimePoint now, Tick& tick) {
  tick_ = &tick;
  amending_ = true;
  needs_from_ = std::min(needs_from_, tick.plan.tick);
  drop_stale();
  admit(now);
  if (chat_has_prompts()) withdraw_batch_prompts();
  choose_prefills();
  drop_stale();
  compact();
  for (const PlanMove& move : moves_) rename_row(move);
  write_plan();
  if (options_.layout == KvLayout::kSlab) {
    for (const PlanMove& move : tick.plan.moves) {
      const RowPlace& place = rows_[static_cast<std::size_t>(move.to)];
      if (place.group != nullptr) write_table(at(place));
    }
  }
  amending_ = false;
  changed_ = false;
}

/// Takes out what the plan says of rows that are free now: their sequences have ended or given way,
/// and the rows and pages may be another's.
void Scheduler::drop_stale() {
  if (releases_ == releases_planned_) return;
  Plan& plan = tick_->plan;
  const auto is_free = [this](std::int32_t row) {
    return rows_[static_cast<std::size_t>(row)].group == nullptr;
  };
  const auto of_free_row = [&](const auto& one) { return is_free(one.row); };
  // A sequence that was to compute the prompt for others has ended by a stop string of before.
  for (const PlanFork& fork : plan.forks) {
    if (is_free(fork.from) && !is_free(fork.to)) {
      preempt(*rows_[static_cast<std::size_t>(fork.to)].group);
    }
  }
  releases_planned_ = releases_;
  std::erase_if(plan.starts, of_free_row);
  std::erase_if(plan.tables, of_free_row);
  std::erase_if(plan.encodes, of_free_row);
  std::erase_if(plan.forks, [&](const PlanFork& fork) { return is_free(fork.to); });
  drop_entries(is_free);
}

/// Takes out what is computed and drawn for some rows.
template <class OfRow>
void Scheduler::drop_entries(OfRow&& goes) {
  Plan& plan = tick_->plan;
  entry_now_.clear();
  std::int32_t kept = 0;
  for (const PlanEntry& entry : plan.entries) {
    const bool gone = goes(entry.row);
    entry_now_.push_back(gone ? -1 : kept);
    kept += gone ? 0 : 1;
  }
  std::erase_if(plan.entries, [&](const PlanEntry& entry) { return goes(entry.row); });
  tick_->shape = shape_of(plan);

  std::size_t samples = 0;
  for (std::size_t i = 0; i < plan.samples.size(); ++i) {
    const SampleOwner owner = tick_->owners[i];
    if (goes(plan.samples[i].row)) {
      --owner.group->in_flight;
      forget_if_possible(*owner.group);
      continue;
    }
    plan.samples[samples] = plan.samples[i];
    plan.samples[samples].entry = entry_now_[static_cast<std::size_t>(plan.samples[i].entry)];
    tick_->owners[samples] = owner;
    ++samples;
  }
  plan.samples.resize(samples);
  tick_->owners.resize(samples);
}

bool Scheduler::chat_has_prompts() const {
  return std::ranges::any_of(running_, [this](const Group* group) {
    return group->cls == RequestClass::kChat &&
           std::ranges::any_of(group->sequences, [&](const Sequence& sequence) {
             return wanted(*group, sequence) > 1;
           });
  });
}

/// Makes room in the time of a planned step for the prompts of chat that have come since: what it
/// was to compute of batch's prompts is chosen anew, after them. Rows and pages stay, so starts and
/// page tables in the plan hold.
void Scheduler::withdraw_batch_prompts() {
  Plan& plan = tick_->plan;
  bool any = false;
  for (const PlanEntry& entry : plan.entries) {
    const RowPlace& place = rows_[static_cast<std::size_t>(entry.row)];
    Group& group = *place.group;
    const bool plain = group.spec.sequences == 1 && group.spec.encoder_input.empty();
    if (group.cls != RequestClass::kBatch || !plain || entry.count == 1) continue;
    Sequence& sequence = at(place);
    sequence.computed = entry.start;
    sequence.planned_in = 0;
    set_decodes(sequence, false);
    sequence.in_flight = 0;  // it computes what is known, so nothing else is under way
    if (sequence.computed < group.prompt_tokens()) group.phase = GroupPhase::kPrompt;
    stats_.prompt_tokens -= static_cast<std::uint64_t>(entry.count);
    any = true;
  }
  if (!any) return;
  drop_entries([this](std::int32_t row) {
    return at(rows_[static_cast<std::size_t>(row)]).planned_in == 0;
  });
}

/// The plan's commands come after its moves.
void Scheduler::rename_row(const PlanMove& move) {
  Plan& plan = tick_->plan;
  const auto rename = [&](std::int32_t& row) {
    if (row == move.from) row = move.to;
  };
  for (PlanStart& one : plan.starts) rename(one.row);
  for (PlanTable& one : plan.tables) rename(one.row);
  for (PlanEncode& one : plan.encodes) rename(one.row);
  for (PlanEntry& one : plan.entries) rename(one.row);
  for (PlanSample& one : plan.samples) rename(one.row);
  for (PlanFork& one : plan.forks) {
    rename(one.from);
    rename(one.to);
  }
}

}  // namespace weft
