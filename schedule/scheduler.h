#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"
#include "weft/schedule/adapters/adapter_places.h"
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
#include "weft/schedule/training/training_policy.h"
#include "weft/schedule/waiting/waiting_groups.h"

namespace weft {

/// Receives the events of groups, from within the scheduler's calls.
class SchedulerListener {
 public:
  /// The group has its rows; called again when it resumes after giving way.
  virtual void on_begin(Group& group) = 0;
  /// The sequence has a new token; `end` says whether it is the last.
  virtual void on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                        std::span<const TokenLogprob> top, SequenceEnd end) = 0;
  /// The group has ended; called once. The scheduler then keeps only the object, while results are
  /// pending. kFailed and kCancelled come with an `error`; kFailed without one means that no token
  /// could be chosen, since no logit was a number above -inf.
  virtual void on_end(Group& group, GroupEnd end, const Error& error) = 0;

 protected:
  ~SchedulerListener() = default;
};

struct SchedulerStats {
  std::size_t waiting = 0;  ///< groups
  std::size_t running = 0;  ///< sequences with a row
  std::int32_t pages_free = 0;
  std::uint64_t ticks = 0;
  std::uint64_t prompt_tokens = 0;  ///< computed prompt tokens, also if computed again
  std::uint64_t output_tokens = 0;  ///< tokens given to listeners
  std::uint64_t forced_tokens = 0;  ///< output tokens that were forced rather than chosen
  GuessTallies guesses{};           ///< the sum over all groups
  std::uint64_t preemptions = 0;
  std::uint64_t moved_rows = 0;
  AdapterStats adapters{};
  PrefixStats prefixes{};
  TrainingStats training{};
  PageFilesStats files{};  ///< since the process has the device's files
};

/// The use of a row.
struct RowUse {
  const Group* group = nullptr;  ///< null: the row is free
  bool decodes = false;          ///< all known tokens of its sequence are in a plan
};

/// Decides what each tick runs: iteration-level scheduling with selective batching (Orca, section
/// 3), rows kept contiguous (Flover, section V.D), KV in pages with reference counts, prefill cut
/// to a time budget, `batch` giving way to `chat`, clients served by VTC. It plans one tick ahead:
/// plan t+1 is made before the results of step t are known. So a plan refers to "the token that
/// step t gives this row", and a sequence that turns out to end at t wastes one row in t+1.
///
/// Where a device guesses tokens and verifies them (PlanEntry::guesses), a step gives a row one
/// token and one more for each right guess. Plan t+1 is still made before the results of step t are
/// known: it gives the range of positions where the row may continue, and the device knows where.
///
/// On a device of S stages S steps run at once, and plan t+S is made before the results of step t
/// are known. Rows are divided among S ticks, each row in one of them (Orca, section 4.2: stages
/// stay busy without cutting a batch into micro-batches).
///
/// It is the front of the parts that this folder's README lists. It moves a group from the queue
/// (WaitingGroups, by Admission) to rows and pages (RunningGroups), into plans (ChunkPlanner,
/// PlanWriter, PlanAmender), and out again when it ends. Other groups find the pages that it leaves
/// in the KV cache (PrefixKeeper, PrefixFinder).
///
/// Where a grammar leaves no choice, the forced text is inserted behind a chosen token and computed
/// in one step with it or after it (jump-ahead decoding, as in SGLang, arXiv 2312.07104, section 4,
/// except that tokens given to a listener are never taken back). The scheduler then ignores the
/// token that the step in flight chooses for the sequence.
///
/// Pure: it knows no actors, devices or clocks. Owner only. Submitting a group and giving it rows
/// for the first time allocate. Once every structure has its size, only beam searches and forced
/// text allocate otherwise.
///
/// No starvation: Admission bounds how often a waiting group is overtaken, and ChunkPlanner bounds
/// how long a running group waits. `batch` waits as long as `chat` alone fills the device.
class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, SchedulerListener& listener);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Returns why the device could never run the group, with numbers; empty if it can.
  [[nodiscard]] std::string never_fits(const GroupSpec& spec) const {
    return admission_.never_fits(spec);
  }

  /// Takes a group that fits, with the owner's fields of WaitItem set.
  void submit(std::unique_ptr<Group> group, TimePoint now);

  /// Ends a group in any phase; its rows and pages are free at once. Does nothing if it has ended
  /// already.
  void end(Group& group, GroupEnd how, const Error& error = {});
  /// Ends one sequence because its text hit a stop string.
  void end_sequence(Group& group, std::int32_t sequence);

  /// Fills the next tick; false if there is nothing to run now. For `budget` see
  /// ChunkPlanner::set_budget().
  bool plan(TimePoint now, Tick& tick, std::optional<Duration> budget = {});
  /// Updates the last planned tick, which has not begun: sequences that have ended leave it, and
  /// groups that have arrived begin in it, so that they need not wait for the next tick. Only the
  /// last planned tick can be amended.
  void amend(TimePoint now, Tick& tick);
  /// Whether groups or adapters have arrived, or rows were released, since the last plan.
  [[nodiscard]] bool changed() const noexcept {
    return arrived_ || rows_.releases() != releases_seen_;
  }
  /// The same, or a group has waited for training long enough since the last plan.
  [[nodiscard]] bool changed(TimePoint now) const noexcept {
    return changed() || stops_waiting(now);
  }
  /// Takes the results of a tick, in the order of the plans.
  void complete(const Tick& tick);
  /// A tick's results are lost: every group with a row fails, unless it began after an earlier loss
  /// was reported.
  void fail(const Tick& tick, const Error& error);
  /// The first tick since the last loss: new ticks do not depend on results of earlier ticks.
  [[nodiscard]] std::uint64_t needs_from() const noexcept { return clock_.needs_from(); }

  /// The training task that may run from now on; 0: none (TrainingPolicy). Without a task, plans
  /// have no training.
  void train(std::uint64_t task, TimePoint now);
  /// Since when the group waits that was submitted first of those that wait and have never begun.
  [[nodiscard]] std::optional<TimePoint> oldest_wait() const noexcept;

  /// When plan() may find work by time alone: at the end of a batching window, when pages have been
  /// read, or when a group has waited for training long enough.
  [[nodiscard]] std::optional<TimePoint> wake_at() const;
  [[nodiscard]] SchedulerStats stats() const;
  /// Counts the changes of row_use().
  [[nodiscard]] std::uint64_t row_changes() const noexcept { return rows_.changes(); }
  [[nodiscard]] RowUse row_use(std::int32_t row) const noexcept {
    const RowPlace& place = rows_.at(row);
    return {place.group, place.decodes};
  }

  /// Checks the invariants of rows, memory and adapters (RowTable::check, KvMemory::check,
  /// AdapterPlaces::check). For tests; takes time.
  void check_invariants() const;

 private:
  void admit(TimePoint now, Tick* amended);
  void make_places();
  void make_room(const Group& group);
  void begin(Group& group, Tick* amended);
  void note_seen() noexcept;
  void save_pages();
  void choose_training(TimePoint now, Tick& tick);
  [[nodiscard]] bool stops_waiting(TimePoint now) const noexcept;
  [[nodiscard]] bool is_awaited() const noexcept;
  [[nodiscard]] bool use_files(const SchedulerOptions& options);

  void take_results(const Tick& tick, std::size_t index, std::span<const SampleResult> results);
  void count_guesses(Group& group, GuessSource source, const GuessCounts& counts);
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
  const Duration longest_step_;  // zero: no step is too long
  PlanClock clock_;              // which the parts below ask
  GroupTable groups_;            // outlives the parts below, which refer to groups
  RowTable rows_;
  KvMemory memory_;
  AdapterPlaces adapters_;
  WaitingGroups waiting_;
  RunningGroups running_;
  ChunkPlanner chunks_;
  SwapCosts swaps_;
  std::optional<PageSaver> saver_;      // with files
  std::optional<PageFetches> fetches_;  // the same
  PrefixLeaders leaders_;
  TrainingPolicy training_;
  Admission admission_;
  PlanWriter writer_;
  PlanAmender amender_;
  bool arrived_ = false;             // a group or an adapter has arrived since the last plan
  bool defers_ = false;              // the oldest new group waited for training then
  TimePoint looked_at_{};            // when the last plan was made
  std::uint64_t releases_seen_ = 0;  // row releases before the last plan
  std::uint64_t output_tokens_ = 0;
  std::uint64_t forced_tokens_ = 0;
  GuessTallies guesses_;
};

}  // namespace weft
