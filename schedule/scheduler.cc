#include "weft/schedule/scheduler.h"

#include <algorithm>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

Scheduler::Scheduler(const SchedulerOptions& options, SchedulerListener& listener)
    : options_(options),
      listener_(listener),
      pages_(options.layout == KvLayout::kPages ? options.limits.pages : 0),
      cross_pages_(options.limits.cross_pages),
      rows_(static_cast<std::size_t>(options.limits.rows)),
      free_rows_(options.limits.rows),
      costs_(static_cast<std::size_t>(options.limits.rows)) {
  const auto rows = static_cast<std::size_t>(options.limits.rows);
  running_.reserve(rows);
  copies_.reserve(rows);
  entry_now_.reserve(rows);
  moves_.reserve(rows);
  if (options.layout == KvLayout::kSlab) {
    const auto pages = rows * static_cast<std::size_t>(options.limits.pages_per_row());
    if (std::cmp_less(options.limits.pages, pages)) internal_error("rows lack their slabs");
    slab_copies_.reserve(pages);
  }
}

Scheduler::~Scheduler() {
  // The queue is intrusive: its items leave before they are destroyed.
  for (const auto& [key, group] : groups_) {
    if (group->phase == GroupPhase::kWaiting && !group->done) waiting_.remove(*group);
  }
}

void Scheduler::submit(std::unique_ptr<Group> group, TimePoint now) {
  Group& one = *group;
  one.sequences.resize(static_cast<std::size_t>(one.spec.sequences));
  one.alive = one.spec.sequences;
  groups_.emplace(&one, std::move(group));
  changed_ = true;
  if (waiting_.empty()) first_waits_since_ = now;
  served(one).arrive(one.client);
  waiting_.push(one);
}

void Scheduler::end(Group& group, GroupEnd how, const Error& error) {
  if (group.done) return;
  finish(group, how, error);
}

void Scheduler::end_sequence(Group& group, std::int32_t sequence) {
  Sequence& one = group.sequences[static_cast<std::size_t>(sequence)];
  if (group.done || one.ended()) return;
  finish_sequence(group, one, SequenceEnd::kStop);
}

void Scheduler::complete(const Tick& tick) {
  times_.learn(tick.shape, tick.result.took);
  for (std::size_t i = 0; i < tick.owners.size(); ++i) take_result(tick, i);
}

void Scheduler::take_result(const Tick& tick, std::size_t index) {
  const SampleOwner& owner = tick.owners[index];
  Group& group = *owner.group;  // stays while its result is under way
  Sequence& sequence = group.sequences[static_cast<std::size_t>(owner.sequence)];
  if (!group.done && sequence.serial == owner.serial) {
    --sequence.in_flight;
    const SampleResult& result = tick.result.samples[index];
    const auto top = std::span(tick.result.top)
                         .subspan(static_cast<std::size_t>(result.first_top),
                                  static_cast<std::size_t>(result.top_count));
    if (group.beams) {
      take_beam(group, owner.sequence, top);
    } else {
      take_token(group, owner.sequence, result, top);
    }
  }
  --group.in_flight;
  forget_if_possible(group);
}

void Scheduler::take_token(Group& group, std::int32_t index, const SampleResult& result,
                           std::span<const TokenLogprob> top) {
  if (result.token == kNoToken) {
    finish(group, GroupEnd::kFailed, {});
    return;
  }
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  sequence.outputs.push_back(result.token);
  sequence.mirostat_mu = result.mirostat_mu;
  sequence.cumulative_logprob += static_cast<double>(result.logprob);
  ++stats_.output_tokens;
  served(group).charge_output(group.client, 1);
  SequenceEnd end = SequenceEnd::kNone;
  if (std::ranges::binary_search(group.spec.end_tokens, result.token)) {
    end = SequenceEnd::kStop;
  } else if (std::cmp_greater_equal(sequence.outputs.size(), group.spec.max_tokens)) {
    end = SequenceEnd::kLength;
  }
  listener_.on_token(group, index, result, top, end);
  if (end != SequenceEnd::kNone) finish_sequence(group, sequence, end);
}

// The one that computes the prompt may end before the others share it, by a stop string of before
// they gave way. Then the next one computes it. A fork that a waiting plan has is taken out by
// drop_stale(); one that is under way holds, as the row and pages are another's only in later
// plans.
void Scheduler::finish_sequence(Group& group, Sequence& sequence, SequenceEnd end) {
  if (group.phase == GroupPhase::kPrompt && &group.leader() == &sequence) {
    // Encoded in its row, and perhaps by a plan that waits and loses that row.
    group.encoded = group.spec.encoder_input.empty();
  }
  sequence.end = end;
  release(sequence);
  if (--group.alive == 0) finish(group, GroupEnd::kDone, {});
}

void Scheduler::finish(Group& group, GroupEnd how, const Error& error) {
  if (group.phase == GroupPhase::kWaiting) {
    waiting_.remove(group);
    served(group).leave(group.client);
  } else {
    release_all(group);
    std::erase(running_, &group);
  }
  group.done = true;
  listener_.on_end(group, how, error);
  forget_if_possible(group);
}

void Scheduler::forget_if_possible(const Group& group) {
  if (group.done && group.in_flight == 0) groups_.erase(&group);
}

void Scheduler::fail(const Tick& tick, const Error& error) {
  for (const SampleOwner& owner : tick.owners) {
    --owner.group->in_flight;
    forget_if_possible(*owner.group);
  }
  if (tick.plan.tick < needs_from_) return;
  needs_from_ = stats_.ticks + 1;
  while (!running_.empty()) finish(*running_.back(), GroupEnd::kFailed, error);
}

void Scheduler::end_all(GroupEnd how, const Error& error) {
  std::vector<Group*> all;
  all.reserve(groups_.size());
  for (const auto& [key, group] : groups_) {
    if (!group->done) all.push_back(group.get());
  }
  for (Group* group : all) finish(*group, how, error);
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = stats_;
  stats.waiting = waiting_.size();
  stats.running = rows_.size() - static_cast<std::size_t>(free_rows_);
  stats.pages_free = pages_.free();
  return stats;
}

}  // namespace weft
