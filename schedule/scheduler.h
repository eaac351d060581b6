#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"
#include "weft/schedule/admission.h"
#include "weft/schedule/group.h"
#include "weft/schedule/group_table.h"
#include "weft/schedule/memory/files/page_fetches.h"
#include "weft/schedule/memory/files/page_saver.h"
#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/memory/tiers/swap_costs.h"
#include "weft/schedule/plan_clock.h"
#include "weft/schedule/prefix_leaders.h"
#include "weft/schedule/rows/row_table.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/scheduler_options.h"
#include "weft/schedule/step/chunk_planner.h"
#include "weft/schedule/step/plan_amender.h"
#include "weft/schedule/step/plan_writer.h"
#include "weft/schedule/step/tick.h"
#include "weft/schedule/waiting/waiting_groups.h"

namespace weft {

/// Told what becomes of groups, from within the scheduler's calls.
class SchedulerListener {
 public:
  /// The group has its rows; called again when it begins again after it gave way.
  virtual void on_begin(Group& group) = 0;
  /// The sequence has a new token, which is its last one when `end` says so.
  virtual void on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                        std::span<const TokenLogprob> top, SequenceEnd end) = 0;
  /// The group is over; called once, and after it the scheduler keeps nothing of it but the object,
  /// while results are under way. There is an `error` with kFailed and kCancelled; kFailed without
  /// one says that nothing could be chosen, as no logit was a number above -inf.
  virtual void on_end(Group& group, GroupEnd end, const Error& error) = 0;

 protected:
  ~SchedulerListener() = default;
};

struct SchedulerStats {
  std::size_t waiting = 0;  ///< groups
  std::size_t running = 0;  ///< sequences with a row
  std::int32_t pages_free = 0;
  std::uint64_t ticks = 0;
  std::uint64_t prompt_tokens = 0;  ///< computed, those computed again included
  std::uint64_t output_tokens = 0;  ///< given to listeners
  std::uint64_t forced_tokens = 0;  ///< of those, put in and not chosen
  GuessCounts guesses{};            ///< of all groups
  std::uint64_t preemptions = 0;
  std::uint64_t moved_rows = 0;
  PrefixStats prefixes{};
  PageFilesStats files{};  ///< since the process has the device's files
};

/// What a row is used for.
struct RowUse {
  const Group* group = nullptr;  ///< null: the row is free
  bool decodes = false;          ///< all known tokens of its sequence are in a plan
};

/// Decides what each tick runs: iteration-level scheduling with selective batching (Orca, section
/// 3), rows kept contiguous (Flover, section V.D), KV in pages with reference counts, prefill cut
/// to a time budget, `batch` giving way to `chat`, clients served by VTC. It plans one tick ahead:
/// plan t+1 is made before the results of step t are known, so it says "the token that step t gives
/// this row", and a sequence that turns out to have ended at t costs one wasted row in t+1.
///
/// Where a device guesses tokens and verifies them (PlanEntry::guesses), a step gives a row one
/// token and one more for each right guess. Plan t+1 is made all the same before the results of
/// step t are known: it says between which positions the row goes on, and the device knows which.
///
/// On a device of S stages S steps run at once, and the plan t+S is made before the results of step
/// t are known: rows are shared out among S ticks, of which each row is in one (Orca, section 4.2:
/// stages are kept busy without cutting a batch into micro-batches).
///
/// It is the front of the parts that this folder's README lists, and passes a group from one to the
/// next: from the queue (WaitingGroups, by Admission) to the rows and pages (RunningGroups), into
/// plans (ChunkPlanner, PlanWriter, PlanAmender), and out again when it ends. What it leaves in the
/// KV cache others find (PrefixKeeper, PrefixFinder).
///
/// Where a grammar leaves no choice, what has to come is put in behind a token that was chosen, and
/// computed in one step with it or after it (jump-ahead decoding, as in SGLang, arXiv 2312.07104,
/// section 4, but that no token is taken back that was given to a listener). What the step under
/// way chooses for the sequence then counts for nothing.
///
/// Pure: it knows no actors, devices or clocks. Owner only. Submitting allocates, and so does a
/// group that gets rows for the first time; nothing else does once every structure has its size,
/// but for beam searches and for text that a grammar forces.
///
/// No starvation: Admission bounds how often a group that waits is overtaken, and ChunkPlanner says
/// how a running one advances. `batch` waits for as long as `chat` alone fills the device.
class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, SchedulerListener& listener);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Why the device could never run it, with the numbers; empty when it fits.
  [[nodiscard]] std::string never_fits(const GroupSpec& spec) const {
    return admission_.never_fits(spec);
  }

  /// Takes a group that fits. Its fields of WaitItem that are the owner's have been set.
  void submit(std::unique_ptr<Group> group, TimePoint now);

  /// Ends a group in whatever phase; rows and pages are free at once. Does nothing for one that has
  /// ended.
  void end(Group& group, GroupEnd how, const Error& error = {});
  /// Ends one sequence where its text hit a stop string.
  void end_sequence(Group& group, std::int32_t sequence);

  /// Fills the next tick. False when there is nothing to run now. `budget` as of
  /// ChunkPlanner::set_budget().
  bool plan(TimePoint now, Tick& tick, std::optional<Duration> budget = {});
  /// Puts into a tick that has been planned, and not begun, what has changed since: sequences that
  /// ended leave it, groups that arrived begin in it. So nobody waits for the tick after it. Only
  /// the last tick that was planned can be amended.
  void amend(TimePoint now, Tick& tick);
  /// Whether groups have come or rows were given back since the last plan.
  [[nodiscard]] bool changed() const noexcept {
    return arrived_ || rows_.releases() != releases_seen_;
  }
  /// Takes the results of a tick, in the order of the plans.
  void complete(const Tick& tick);
  /// A tick's results are lost: every group with a row fails, unless it began after an earlier loss
  /// had been told.
  void fail(const Tick& tick, const Error& error);
  /// The first tick since the last loss: those planned now need the results of none before it.
  [[nodiscard]] std::uint64_t needs_from() const noexcept { return clock_.needs_from(); }

  /// When plan() may find something though nothing happens before: the end of a batching window, or
  /// pages that were read.
  [[nodiscard]] std::optional<TimePoint> wake_at() const;
  [[nodiscard]] SchedulerStats stats() const;
  /// Counts the changes of what row_use() says.
  [[nodiscard]] std::uint64_t row_changes() const noexcept { return rows_.changes(); }
  [[nodiscard]] RowUse row_use(std::int32_t row) const noexcept {
    const RowPlace& place = rows_.at(row);
    return {place.group, place.decodes};
  }

  /// Checks the invariants of rows and memory (RowTable::check, KvMemory::check). For tests; takes
  /// time.
  void check_invariants() const;

 private:
  void admit(TimePoint now, Tick* amended);
  void make_room(const Group& group);
  void begin(Group& group, Tick* amended);
  void note_seen() noexcept;
  void save_pages();
  [[nodiscard]] bool use_files(const SchedulerOptions& options);

  void take_results(const Tick& tick, std::size_t index, std::span<const SampleResult> results);
  void count_guesses(Group& group, std::int64_t accepted, std::int64_t rejected);
  void take_result(Group& group, std::int32_t index, const SampleResult& result,
                   std::span<const TokenLogprob> top);
  void take_computed(const SampleOwner& owner);
  void take_token(Group& group, std::int32_t index, const SampleResult& result,
                  std::span<const TokenLogprob> top);
  void add_output(Group& group, std::int32_t index, const SampleResult& result,
                  std::span<const TokenLogprob> top);
  void jump_ahead(Group& group, std::int32_t index);
  void take_beam(Group& group, std::int32_t index, std::span<const TokenLogprob> top);
  void finish_sequence(Group& group, Sequence& sequence, SequenceEnd end);
  void finish(Group& group, GroupEnd how, const Error& error);
  void lose_all(const Error& error);

  SchedulerListener& listener_;
  const std::int64_t page_bytes_;
  const bool jumps_ahead_;
  PlanClock clock_;    // which the parts below ask
  GroupTable groups_;  // outlives the parts below, which refer to groups
  RowTable rows_;
  KvMemory memory_;
  WaitingGroups waiting_;
  RunningGroups running_;
  ChunkPlanner chunks_;
  SwapCosts swaps_;
  std::optional<PageSaver> saver_;      // with files
  std::optional<PageFetches> fetches_;  // the same
  PrefixLeaders leaders_;
  Admission admission_;
  PlanWriter writer_;
  PlanAmender amender_;
  bool arrived_ = false;             // a group, since the last plan
  std::uint64_t releases_seen_ = 0;  // of rows, before the last plan
  std::uint64_t output_tokens_ = 0;
  std::uint64_t forced_tokens_ = 0;
  GuessCounts guesses_;
};

}  // namespace weft
