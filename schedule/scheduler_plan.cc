// Writing down what the sequences feed.

#include <algorithm>
#include <utility>

#include "weft/schedule/scheduler.h"

namespace weft {
namespace {

// Each output of a request draws from its own stream; the first from the seed's.
std::uint64_t seed_of(const Group& group, std::int32_t sequence) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: far apart
  return group.spec.seed + static_cast<std::uint64_t>(sequence) * kGolden;
}

}  // namespace

bool Scheduler::plan(TimePoint now, Tick& tick) {
  tick.clear();
  tick_ = &tick;
  tick.plan.tick = stats_.ticks + 1;
  changed_ = false;
  const auto is_empty = [&] { return tick.shape.decode_tokens + tick.shape.prefill_tokens == 0; };
  choose_decodes();
  admit(now);
  choose_prefills();
  // The prompt that streams were to wait for may have given way.
  if (is_empty()) choose_decodes();
  if (is_empty()) return false;
  compact();
  write_plan();
  ++stats_.ticks;
  releases_planned_ = releases_;
  return true;
}

void Scheduler::write_plan() {
  Plan& plan = tick_->plan;
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
  };
  plan.first_row = region_.first;
  plan.rows = region_.count;
  append(plan.slab_copies, slab_copies_);
  append(plan.moves, moves_);
  append(plan.copies, copies_);
  for (std::int32_t i = 0; i < region_.count; ++i) {
    const RowPlace place =
        rows_[static_cast<std::size_t>(region_.first) + static_cast<std::size_t>(i)];
    if (at(place).chunk > 0) write_entry(*place.group, place.sequence);
  }
  // Some that were chosen may have given way to others.
  tick_->shape = shape_of(plan);
}

/// One token of a sequence costs what a decode costs, wherever it comes from.
StepShape Scheduler::shape_of(const Plan& plan) {
  StepShape shape;
  for (const PlanEntry& entry : plan.entries) {
    (entry.count == 1 ? shape.decode_tokens : shape.prefill_tokens) += entry.count;
    shape.context_tokens += entry.start + entry.count;
  }
  for (const PlanEncode& one : plan.encodes) shape.prefill_tokens += one.count;
  return shape;
}

void Scheduler::write_entry(Group& group, std::int32_t index) {
  Plan& plan = tick_->plan;
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  if (sequence.fresh) write_start(group, sequence, index);
  if (!group.encoded) write_encode(group, sequence);
  write_table(sequence);
  const std::int32_t known = group.known(sequence);
  PlanEntry entry{sequence.row, sequence.chunk, sequence.computed, kLastToken};
  if (sequence.computed < known) {
    entry.first_id = static_cast<std::int32_t>(plan.ids.size());
    for (std::int32_t i = 0; i < sequence.chunk; ++i) {
      plan.ids.push_back(group.token(sequence, sequence.computed + i));
    }
  }
  const auto number = static_cast<std::int32_t>(plan.entries.size());
  plan.entries.push_back(entry);
  if (entry.first_id != kLastToken) {
    stats_.prompt_tokens += static_cast<std::uint64_t>(sequence.chunk);
  }
  sequence.planned_in = plan.tick;
  sequence.computed += std::exchange(sequence.chunk, 0);
  if (group.phase == GroupPhase::kPrompt && sequence.computed >= group.prompt_tokens()) {
    const bool begins = sequence.outputs.empty();
    if (begins && group.beams) return write_sample(group, index, number);  // forks by its result
    if (group.alive > 1) fork(group);
    group.phase = GroupPhase::kForked;
    if (begins) return write_first_samples(group, number);
  }
  if (sequence.computed >= known) write_sample(group, index, number);
}

/// All outputs begin with the same logits.
void Scheduler::write_first_samples(Group& group, std::int32_t entry) {
  for (std::int32_t i = 0; i < group.spec.sequences; ++i) {
    if (!group.sequences[static_cast<std::size_t>(i)].ended()) write_sample(group, i, entry);
  }
}

void Scheduler::write_sample(Group& group, std::int32_t index, std::int32_t entry) {
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  tick_->plan.samples.push_back({entry, sequence.row});
  tick_->owners.push_back({&group, index, sequence.serial});
  ++sequence.in_flight;
  ++group.in_flight;
}

void Scheduler::write_start(Group& group, Sequence& sequence, std::int32_t index) {
  Plan& plan = tick_->plan;
  PlanStart start;
  start.row = sequence.row;
  start.sampling = group.spec.sampling;
  start.seed = seed_of(group, index);
  start.prompt_tokens = group.prompt_tokens();
  start.mirostat_mu = sequence.mirostat_mu;
  start.long_context = group.spec.long_context;
  start.first_history = static_cast<std::int32_t>(plan.ids.size());
  start.history_tokens = sequence.computed;
  for (std::int32_t i = 0; i < sequence.computed; ++i) {
    plan.ids.push_back(group.token(sequence, i));
  }
  if (group.encoded && !group.spec.encoder_input.empty()) {
    start.cross_context = static_cast<std::int32_t>(group.spec.encoder_input.size());
    start.first_cross_page = static_cast<std::int32_t>(plan.pages.size());
    start.cross_pages = static_cast<std::int32_t>(group.cross_pages.size());
    plan.pages.insert(plan.pages.end(), group.cross_pages.begin(), group.cross_pages.end());
  }
  plan.starts.push_back(std::move(start));
  sequence.fresh = false;
}

void Scheduler::write_table(Sequence& sequence) {
  Plan& plan = tick_->plan;
  const std::size_t from = std::exchange(sequence.table_from, sequence.pages.size());
  if (from >= sequence.pages.size()) return;
  plan.tables.push_back({sequence.row, static_cast<std::int32_t>(from),
                         static_cast<std::int32_t>(plan.pages.size()),
                         static_cast<std::int32_t>(sequence.pages.size() - from)});
  plan.pages.insert(plan.pages.end(), sequence.pages.begin() + static_cast<std::ptrdiff_t>(from),
                    sequence.pages.end());
}

void Scheduler::write_encode(Group& group, const Sequence& sequence) {
  Plan& plan = tick_->plan;
  const auto& input = group.spec.encoder_input;
  plan.encodes.push_back({sequence.row, static_cast<std::int32_t>(plan.ids.size()),
                          static_cast<std::int32_t>(input.size()),
                          static_cast<std::int32_t>(plan.pages.size()),
                          static_cast<std::int32_t>(group.cross_pages.size())});
  plan.ids.insert(plan.ids.end(), input.begin(), input.end());
  plan.pages.insert(plan.pages.end(), group.cross_pages.begin(), group.cross_pages.end());
  group.encoded = true;
}

/// The prompt is computed with this plan: the other sequences share its pages, or copy them after
/// the step where each has a slab.
void Scheduler::fork(Group& group) {
  const Sequence& leader = group.leader();
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    Sequence& sequence = group.sequences[i];
    if (sequence.ended() || &sequence == &leader) continue;
    sequence.computed = leader.computed;
    sequence.planned_in = leader.planned_in;  // feeds nothing before what it shares is there
    sequence.fresh = false;
    std::int32_t copied_pages = 0;
    if (options_.layout == KvLayout::kPages) {
      sequence.pages.assign(leader.pages.begin(), leader.pages.end());
      pages_.share(sequence.pages);
    } else {
      take_pages(group, sequence, sequence.computed);
      copied_pages = static_cast<std::int32_t>(sequence.pages.size());
    }
    write_table(sequence);
    tick_->plan.forks.push_back({leader.row, sequence.row, copied_pages,
                                 seed_of(group, static_cast<std::int32_t>(i)),
                                 sequence.mirostat_mu});
  }
}

}  // namespace weft
