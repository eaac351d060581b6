#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/page_pool.h"
#include "weft/schedule/row_shuffle.h"
#include "weft/schedule/served_tokens.h"
#include "weft/schedule/step_time_model.h"
#include "weft/schedule/tick.h"
#include "weft/schedule/wait_queue.h"

namespace weft {

/// Told what becomes of groups, from within the scheduler's calls.
class SchedulerListener {
 public:
  /// The group has its rows; again after it gave way.
  virtual void on_begin(Group& group) = 0;
  /// The sequence has a new token, which is its last one when `end` says so.
  virtual void on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                        std::span<const TokenLogprob> top, SequenceEnd end) = 0;
  /// The group is over; called once, and after it the scheduler keeps nothing of it but the object,
  /// while results are under way. `error` with kFailed and kCancelled; kFailed without one:
  /// nothing could be chosen, no logit was a number above -inf.
  virtual void on_end(Group& group, GroupEnd end, const Error& error) = 0;

 protected:
  ~SchedulerListener() = default;
};

struct SchedulerOptions {
  DeviceLimits limits;
  BatchPolicy policy = BatchPolicy::kFusion;
  Duration window{};
  AdmissionMode admission = AdmissionMode::kOptimistic;
  double watermark = 0.05;
  KvLayout layout = KvLayout::kPages;
  Duration target_inter_token{};
  std::int32_t decode_every = 1;
};

struct SchedulerStats {
  std::size_t waiting = 0;  ///< groups
  std::size_t running = 0;  ///< sequences with a row
  std::int32_t pages_free = 0;
  std::uint64_t ticks = 0;
  std::uint64_t prompt_tokens = 0;  ///< computed, those computed again included
  std::uint64_t output_tokens = 0;  ///< given to listeners
  std::uint64_t preemptions = 0;
  std::uint64_t moved_rows = 0;
};

/// What a row is used for.
struct RowUse {
  const Group* group = nullptr;  ///< null: it is free
  bool decodes = false;          ///< all known tokens of its sequence are in a plan
};

/// Decides what each tick runs: iteration-level scheduling with selective batching (Orca, section
/// 3), rows kept contiguous (Flover, section V.D), KV in pages with reference counts, prefill cut
/// to a time budget, `batch` giving way to `chat`, clients served by VTC. It plans one tick ahead:
/// plan t+1 is made before the results of step t are known, so it says "the token that step t gives
/// this row", and a sequence that turns out to have ended at t costs one wasted row in t+1.
///
/// Pure: knows no actors, devices or clocks. Owner only. Submitting allocates, and so does a group
/// that gets rows for the first time; all else does not once every structure has its size, but for
/// beam searches.
///
/// No starvation: inside a class a group is overtaken by at most kMaxOvertakes later ones that fit
/// where it does not; then nothing is admitted before it. A running sequence advances at least
/// every decode_every ticks, and of those that compute prompts the oldest of the better class gets
/// at least kLeastChunk tokens a tick. `batch` waits for as long as `chat` alone fills the device.
class Scheduler {
 public:
  static constexpr std::int32_t kMaxOvertakes = 32;
  /// Prompt tokens that a tick takes whatever the time budget says: a step of the weights' reading
  /// costs the same for one token as for these.
  static constexpr std::int32_t kLeastChunk = 16;

  Scheduler(const SchedulerOptions& options, SchedulerListener& listener);
  ~Scheduler();

  /// Why the device could never run it, with the numbers; empty when it fits.
  [[nodiscard]] std::string never_fits(const GroupSpec& spec) const;

  /// Takes a group that fits. `order` and `cls` and so on have been set.
  void submit(std::unique_ptr<Group> group, TimePoint now);

  /// Ends a group in whatever phase; rows and pages are free at once. Nothing for one that has
  /// ended.
  void end(Group& group, GroupEnd how, const Error& error = {});
  /// Ends one sequence where its text hit a stop string.
  void end_sequence(Group& group, std::int32_t sequence);

  /// Fills the next tick. False when there is nothing to run now.
  bool plan(TimePoint now, Tick& tick);
  /// Puts into a tick that has been planned, and not begun, what has changed since: sequences that
  /// ended leave it, groups that arrived begin in it. So nobody waits for the tick after it. The
  /// last tick planned only.
  void amend(TimePoint now, Tick& tick);
  /// Groups have come or ended since the last plan.
  [[nodiscard]] bool changed() const noexcept { return changed_; }
  /// Takes the results of a tick, in the order of the plans.
  void complete(const Tick& tick);
  /// A tick's results are lost: every group with a row fails, unless it began after an earlier loss
  /// had been told.
  void fail(const Tick& tick, const Error& error);
  /// The first tick since the last loss: those planned now need the results of none before it.
  [[nodiscard]] std::uint64_t needs_from() const noexcept { return needs_from_; }
  /// Ends all groups.
  void end_all(GroupEnd how, const Error& error);

  /// When plan() may find something though nothing happens before: the end of a batching window.
  [[nodiscard]] std::optional<TimePoint> wake_at() const;
  [[nodiscard]] SchedulerStats stats() const;
  /// Counts the changes of what row_use() says.
  [[nodiscard]] std::uint64_t row_changes() const noexcept { return row_changes_; }
  [[nodiscard]] RowUse row_use(std::int32_t row) const noexcept {
    const RowPlace& place = rows_[static_cast<std::size_t>(row)];
    return {place.group, place.decodes};
  }

  /// Checks what must always hold, internal_error otherwise: rows contiguous after a plan, each
  /// page referred to as often as counted, in slabs each in its own, none lost or reserved for
  /// nobody. For tests; takes time.
  void check_invariants() const;

 private:
  using Groups = std::unordered_map<const Group*, std::unique_ptr<Group>>;

  /// What a group that is to begin can have.
  struct Room {
    std::int64_t rows = 0;
    std::int64_t pages = 0;
    std::int64_t cross_pages = 0;
    std::int64_t reserved = 0;  ///< pages that others have been promised
    bool idle = false;          ///< nobody would run beside it
  };

  // scheduler_admission.cc
  void admit(TimePoint now);
  bool may_admit(TimePoint now) const;
  bool try_admit(Group& group);
  bool make_room(const Group& group);
  [[nodiscard]] Room room() const;
  [[nodiscard]] Room room_without_batch() const;
  [[nodiscard]] bool fits(const Group& group, const Room& room) const;
  [[nodiscard]] std::int64_t pages_to_begin(const Group& group) const;
  [[nodiscard]] std::int64_t pages_at_most(const GroupSpec& spec) const;
  void begin(Group& group);
  void reserve_outputs(Group& group) const;
  void preempt(Group& group);
  [[nodiscard]] Group* victim(const Group* for_whom) const;

  // scheduler_memory.cc
  bool take_pages(Group& group, Sequence& sequence, std::int32_t tokens);
  bool own_page(Sequence& sequence, std::size_t index);
  void release(Sequence& sequence);
  void release_row(Sequence& sequence);
  void release_all(Group& group);
  [[nodiscard]] std::int32_t take_row(Group& group, std::int32_t sequence);
  void compact();
  void move_row(const PlanMove& move);
  void set_decodes(const Sequence& sequence, bool decodes);
  void check_rows() const;
  void check_pages() const;

  // scheduler_chunks.cc: what each sequence feeds
  void choose_decodes();
  void choose_prefills();
  [[nodiscard]] std::int32_t prefill_budget() const;
  [[nodiscard]] std::int64_t context_of_next_prefill() const;
  [[nodiscard]] std::int32_t wanted(const Group& group, const Sequence& sequence) const;
  bool room_for(Group& group, Sequence& sequence);

  // scheduler_plan.cc
  void write_plan();
  [[nodiscard]] static StepShape shape_of(const Plan& plan);
  void write_entry(Group& group, std::int32_t index);
  void write_start(Group& group, Sequence& sequence, std::int32_t index);
  void write_table(Sequence& sequence);
  void write_encode(Group& group, const Sequence& sequence);
  void write_first_samples(Group& group, std::int32_t entry);
  void write_sample(Group& group, std::int32_t index, std::int32_t entry);
  void fork(Group& group);
  // scheduler_amend.cc
  void drop_stale();
  template <class OfRow>
  void drop_entries(OfRow&& goes);
  [[nodiscard]] bool chat_has_prompts() const;
  void withdraw_batch_prompts();
  void rename_row(const PlanMove& move);

  // scheduler.cc
  void take_result(const Tick& tick, std::size_t index);
  void take_token(Group& group, std::int32_t index, const SampleResult& result,
                  std::span<const TokenLogprob> top);
  void finish_sequence(Group& group, Sequence& sequence, SequenceEnd end);
  void finish(Group& group, GroupEnd how, const Error& error);
  void forget_if_possible(const Group& group);
  // scheduler_beams.cc
  void take_beam(Group& group, std::int32_t index, std::span<const TokenLogprob> top);
  void step_beams(Group& group);

  struct RowPlace {
    Group* group = nullptr;
    std::int32_t sequence = 0;
    bool decodes = false;  // all that is known is in a plan
  };
  [[nodiscard]] ServedTokens& served(const Group& group) {
    return served_[static_cast<std::size_t>(group.cls)];
  }
  [[nodiscard]] Sequence& at(const RowPlace& place) const {
    return place.group->sequences[static_cast<std::size_t>(place.sequence)];
  }

  const SchedulerOptions options_;
  SchedulerListener& listener_;
  PagePool pages_;
  PagePool cross_pages_;
  std::array<ServedTokens, kRequestClasses.size()> served_;  // clients compete inside a class
  WaitQueue waiting_;
  StepTimeModel times_;
  Groups groups_;
  std::vector<Group*> running_;  // in the order of their admission
  std::vector<RowPlace> rows_;   // by row
  RowRegion region_{};
  std::int32_t free_rows_ = 0;
  std::uint64_t row_changes_ = 0;
  std::int64_t reserved_ = 0;  // pages, in reserve mode
  std::int32_t ticks_without_decode_ = 0;
  std::uint64_t needs_from_ = 1;                // a tick; they count from 1
  std::optional<TimePoint> first_waits_since_;  // since the queue was empty
  SchedulerStats stats_;

  // The plan in the making.
  Tick* tick_ = nullptr;
  bool amending_ = false;
  bool changed_ = false;
  std::uint64_t releases_ = 0;            // rows given back, ever
  std::uint64_t releases_compacted_ = 0;  // of those, before the rows were made contiguous
  std::uint64_t releases_planned_ = 0;    // of those, before the plan in the making
  std::vector<std::int32_t> entry_now_;   // where an entry of the plan is after some were dropped
  std::vector<PlanCopy> copies_;          // of pages that several sequences had
  std::vector<PlanCopy> slab_copies_;
  std::vector<PlanMove> moves_;
  std::vector<std::int64_t> costs_;  // of moving each row
};

}  // namespace weft
