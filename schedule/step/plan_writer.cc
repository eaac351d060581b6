#include "weft/schedule/step/plan_writer.h"

#include <algorithm>
#include <span>
#include <utility>

namespace weft {
namespace {

/// Returns an output's seed: each output of a request has its own random stream.
std::uint64_t seed_of(const Group& group, std::int32_t sequence) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: far apart
  return group.spec.seed + static_cast<std::uint64_t>(sequence) * kGolden;
}

void append_cross_pages(Plan& plan, const Group& group) {
  plan.pages.insert(plan.pages.end(), group.cross_pages.begin(), group.cross_pages.end());
}

/// Writes that the sequence begins in its row; the row gets the tokens that are computed already.
void write_start(Plan& plan, const Group& group, Sequence& sequence, std::int32_t index,
                 const DeviceLimits& limits) {
  PlanStart start;
  start.row = sequence.row;
  start.sampling = group.spec.sampling;
  start.reader = group.spec.reader;
  start.seed = seed_of(group, index);
  start.prompt_tokens = group.prompt_tokens();
  start.mirostat_mu = sequence.mirostat_mu;
  start.traits = group.spec.traits;
  start.may_guess = group.spec.may_guess(limits) && !sequence.forced;
  if (start.may_guess) {
    start.drafts = group.spec.drafts;
    start.drafts.recent = group.recent;
  }
  start.first_history = static_cast<std::int32_t>(plan.ids.size());
  start.history_tokens = sequence.progress.planned();
  for (std::int32_t i = 0; i < sequence.progress.planned(); ++i) {
    plan.ids.push_back(group.token(sequence, i));
  }
  if (group.encoded && !group.spec.encoder_input.empty()) {
    start.cross_context = static_cast<std::int32_t>(group.spec.encoder_input.size());
    start.first_cross_page = static_cast<std::int32_t>(plan.pages.size());
    start.cross_pages = static_cast<std::int32_t>(group.cross_pages.size());
    append_cross_pages(plan, group);
  }
  plan.starts.push_back(std::move(start));
  sequence.fresh = false;
}

/// Writes the entries of the sequence's page table that the device lacks, except entries before the
/// sequence's window.
void write_table(Plan& plan, Sequence& sequence) {
  const std::vector<PageId>& pages = sequence.table.pages;
  const std::size_t from = std::max(std::exchange(sequence.table.sent, pages.size()),
                                    static_cast<std::size_t>(sequence.table.gone));
  if (from >= pages.size()) return;
  plan.tables.push_back({sequence.row, static_cast<std::int32_t>(from),
                         static_cast<std::int32_t>(plan.pages.size()),
                         static_cast<std::int32_t>(pages.size() - from)});
  plan.pages.insert(plan.pages.end(), pages.begin() + static_cast<std::ptrdiff_t>(from),
                    pages.end());
}

void write_encode(Plan& plan, const Group& group, const Sequence& sequence) {
  const auto& input = group.spec.encoder_input;
  plan.encodes.push_back({sequence.row, static_cast<std::int32_t>(plan.ids.size()),
                          static_cast<std::int32_t>(input.size()),
                          static_cast<std::int32_t>(plan.pages.size()),
                          static_cast<std::int32_t>(group.cross_pages.size())});
  plan.ids.insert(plan.ids.end(), input.begin(), input.end());
  append_cross_pages(plan, group);
}

/// Writes that an entry's logits choose a token for the sequence, and expects the result.
void write_sample(Tick& tick, Group& group, std::int32_t index, std::int32_t entry) {
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  tick.plan.samples.push_back({entry, sequence.row});
  tick.owners.push_back({&group, index, sequence.under_way.serial()});
  sequence.under_way.expect_result();
  ++group.in_flight;
}

/// Notes a sequence for which this plan computes the rest and chooses no token.
void write_computed(Tick& tick, Group& group, std::int32_t index) {
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  tick.computed.push_back({&group, index, sequence.under_way.serial()});
  sequence.under_way.expect_result();
  ++group.in_flight;
}

/// Writes the first samples of all outputs, which share the same logits.
void write_first_samples(Tick& tick, Group& group, std::int32_t entry) {
  for (std::int32_t i = 0; i < group.spec.sequences; ++i) {
    if (!group.sequences[static_cast<std::size_t>(i)].ended()) write_sample(tick, group, i, entry);
  }
}

/// Replaces the row's number in commands that the plan already has.
void rename_row(Plan& plan, const PlanMove& move) {
  const auto rename = [&](std::int32_t& row) {
    if (row == move.from) row = move.to;
  };
  for (PlanStart& one : plan.starts) rename(one.row);
  for (PlanTable& one : plan.tables) rename(one.row);
  for (PlanRestore& one : plan.restores) rename(one.row);
  for (PlanEncode& one : plan.encodes) rename(one.row);
  for (PlanEntry& one : plan.entries) rename(one.row);
  for (PlanSnapshot& one : plan.snapshots) rename(one.row);
  for (PlanSample& one : plan.samples) rename(one.row);
  for (PlanFork& one : plan.forks) {
    rename(one.from);
    rename(one.to);
  }
}

}  // namespace

PlanWriter::PlanWriter(const DeviceLimits& limits, RowTable& rows, KvMemory& memory)
    : limits_(limits), rows_(rows), memory_(memory) {}

void PlanWriter::write(Tick& tick) {
  compact(tick.plan);
  write_chunks(tick);
}

void PlanWriter::write_more(Tick& tick) {
  Plan& plan = tick.plan;
  compact(plan);
  write_chunks(tick);
  // Some snapshots' pages may belong to other sequences now.
  std::erase_if(plan.snapshots, [&](const PlanSnapshot& one) {
    return !memory_.states().is_made(plan, one, rows_.sequence_in(one.row));
  });
  if (!memory_.slabs()) return;
  // These entries were written before their row moved to another slab.
  for (const PlanMove& move : plan.moves) {
    if (!rows_.is_free(move.to)) write_table(plan, rows_.sequence_in(move.to));
  }
}

/// Makes the running rows contiguous; a plan's moves precede its other commands.
void PlanWriter::compact(Plan& plan) {
  for (const PlanMove& move : rows_.compact()) {
    plan.moves.push_back(move);
    rename_row(plan, move);
    memory_.follow_row(rows_.sequence_in(move.to));
  }
  plan.first_row = rows_.region().first;
  plan.rows = rows_.region().count;
}

void PlanWriter::write_chunks(Tick& tick) {
  memory_.write_copies(tick.plan);
  const RowRegion region = rows_.region();
  for (std::int32_t row = region.first; row < region.first + region.count; ++row) {
    const RowPlace place = rows_.at(row);
    if (rows_.sequence_in(row).chunk > 0) write_entry(tick, *place.group, place.sequence);
  }
  // Some chosen sequences may have given way.
  tick.shape = shape_of(tick.plan, limits_.window);
}

void PlanWriter::write_entry(Tick& tick, Group& group, std::int32_t index) {
  Plan& plan = tick.plan;
  Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  if (sequence.fresh) write_start(plan, group, sequence, index, limits_);
  if (!group.encoded) {
    write_encode(plan, group, sequence);
    memory_.note_encoded(group);
  }
  write_table(plan, sequence);
  const auto entry = static_cast<std::int32_t>(plan.entries.size());
  plan.entries.push_back({sequence.row, sequence.chunk, sequence.progress.planned(),
                          write_tokens(plan, group, sequence), sequence.guesses,
                          sequence.progress.guesses(), std::exchange(sequence.drafts, 0)});
  sequence.under_way.feed(plan.tick);
  sequence.progress.plan(std::exchange(sequence.chunk, 0), std::exchange(sequence.guesses, 0));
  memory_.states().write(plan, sequence);
  if (plan.entries.back().first_id != kLastToken) {
    memory_.prefixes().note_computed(group, sequence);
  }
  write_outputs(tick, group, index, entry);
}

/// Writes the chunk's tokens, except guesses, and returns their place in the plan, or
/// kLastToken.
std::int32_t PlanWriter::write_tokens(Plan& plan, const Group& group, const Sequence& sequence) {
  if (sequence.progress.to_plan() == 0) return kLastToken;
  const auto first = static_cast<std::int32_t>(plan.ids.size());
  const std::int32_t start = sequence.progress.planned();
  const std::int32_t count = sequence.chunk - sequence.guesses;
  for (std::int32_t i = 0; i < count; ++i) plan.ids.push_back(group.token(sequence, start + i));
  if (!group.is_jump(sequence, start, count)) prompt_tokens_ += static_cast<std::uint64_t>(count);
  return first;
}

/// Writes the samples of the entry's logits: none within a prompt; at its end the first token of
/// each sequence that shares the prompt, with the fork; later the sequence's next token.
void PlanWriter::write_outputs(Tick& tick, Group& group, std::int32_t index, std::int32_t entry) {
  const Sequence& sequence = group.sequences[static_cast<std::size_t>(index)];
  const bool all_is_planned = sequence.progress.to_plan() == 0;
  if (!group.spec.generates()) {
    if (!all_is_planned) return;
    group.phase = GroupPhase::kForked;
    return write_computed(tick, group, index);
  }
  if (all_is_planned) rows_.set_decodes(sequence.row, true);
  if (group.phase == GroupPhase::kPrompt && sequence.progress.planned() >= group.prompt_tokens()) {
    const bool begins = sequence.outputs.empty();
    // The beams that follow the prompt are known only with its result.
    if (begins && group.beams) return write_sample(tick, group, index, entry);
    if (group.alive > 1) fork(tick.plan, group);
    group.phase = GroupPhase::kForked;
    if (begins) return write_first_samples(tick, group, entry);
  }
  if (all_is_planned) write_sample(tick, group, index, entry);
}

/// Forks the group after its prompt, which this plan computes: the other sequences share its pages,
/// or copy them after the step if each sequence has a slab.
void PlanWriter::fork(Plan& plan, Group& group) {
  const Sequence& leader = group.leader();
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    Sequence& sequence = group.sequences[i];
    if (sequence.ended() || &sequence == &leader) continue;
    sequence.progress.share(leader.progress);
    sequence.under_way.feed(plan.tick);  // so that it waits until the shared pages are computed
    sequence.fresh = false;
    const std::int32_t copied_pages = memory_.fork(leader, sequence);
    write_table(plan, sequence);
    plan.forks.push_back({leader.row, sequence.row, copied_pages,
                          seed_of(group, static_cast<std::int32_t>(i)), sequence.mirostat_mu});
  }
}

}  // namespace weft
