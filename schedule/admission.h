#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/core/request_class.h"
#include "weft/core/time/clock.h"
#include "weft/schedule/memory/files/page_fetches.h"
#include "weft/schedule/prefix_leaders.h"
#include "weft/schedule/running_groups.h"
#include "weft/schedule/scheduler_options.h"
#include "weft/schedule/training/training_policy.h"

namespace weft {

/// The group to admit next.
struct AdmissionChoice {
  Group* group = nullptr;  ///< null: no group of the class can begin now
  /// A group has been overtaken too often: no group of any class may begin before it.
  bool blocked = false;
};

/// Decides which group may begin: whether the policy lets groups begin now, and which waiting group
/// fits into the rows and pages that are free, or that `batch` would free for `chat`. RunningGroups
/// carries the decision out.
///
/// A group that fits is passed over while a running group computes the beginning of its prompt
/// (PrefixLeaders), or while some of its pages are read from files (PageFetches). Groups whose
/// adapter is in no place ask for one (AdapterPlaces), and others begin before them. Groups that
/// wait for training (TrainingPolicy) are left out, as if they had not arrived.
///
/// No group starves: inside a class at most kMaxOvertakes later groups, which fit where it does
/// not, overtake a group; then no group is admitted before it. If it lacks its adapter alone, then
/// an adapter that others use gives its place up, and others go on.
///
/// Owner only. Allocates nothing, unless more lines of waiting groups lack their adapters than
/// ever. Changes only places' adapters, `Group::overtaken`, `leads` and `looked_in_files`.
class Admission {
 public:
  static constexpr std::int32_t kMaxOvertakes = 32;
  /// How many lines of waiting groups (WaitQueue) that lack their adapters are passed over at once,
  /// at most: a tick pays some 100 ns for each.
  static constexpr std::size_t kMostLacking = 256;

  Admission(const SchedulerOptions& options, const RowTable& rows, KvMemory& memory,
            AdapterPlaces& adapters, const WaitingGroups& waiting, const RunningGroups& running,
            const PrefixLeaders& leaders, PageFetches* fetches = nullptr,
            const TrainingPolicy* training = nullptr);

  /// Returns why the device could never run the group, with numbers; empty if it can.
  [[nodiscard]] std::string never_fits(const GroupSpec& spec) const;

  /// Whether the policy lets groups begin now. A policy of fixed batches waits for the running
  /// batch to end, and kWindow then for its window or for a group for each row.
  [[nodiscard]] bool is_open(TimePoint now) const;
  /// When is_open() becomes true by time alone: the end of a batching window.
  [[nodiscard]] std::optional<TimePoint> opens_at() const;

  /// Chooses the next group of the class that fits, perhaps only after `batch` gave way, and counts
  /// an overtaking for each group before it in the queue.
  [[nodiscard]] AdmissionChoice choose(RequestClass cls, TimePoint now = {}) const;
  /// Whether a group fits beside all running groups.
  [[nodiscard]] bool fits(const Group& group) const;

 private:
  /// The rows and pages available to a group that is to begin.
  struct Room {
    std::int64_t rows = 0;
    std::int64_t pages = 0;
    std::int64_t cross_pages = 0;
    std::int64_t reserved = 0;  ///< pages promised to other groups
    bool idle = false;          ///< no other group would run
  };

  /// The first groups of lines that lack their adapters, as far as they count as overtaken.
  struct Lacking;

  [[nodiscard]] bool waits_for_training(const Group& group, TimePoint now) const;
  [[nodiscard]] bool has_adapter(Group& group, std::size_t before, Lacking& lacking) const;
  [[nodiscard]] Room room() const;
  [[nodiscard]] Room room_without_batch() const;
  [[nodiscard]] bool fits(const Group& group, const Room& room) const;
  [[nodiscard]] bool fits_by_sharing(const Group& group, Room room) const;
  [[nodiscard]] bool waits_for_files(Group& group) const;
  [[nodiscard]] bool fits_in_any_way(const Group& group, bool first) const;

  const SchedulerOptions options_;
  const RowTable& rows_;
  KvMemory& memory_;
  AdapterPlaces& adapters_;
  const WaitingGroups& waiting_;
  const RunningGroups& running_;
  const PrefixLeaders& leaders_;
  PageFetches* const fetches_;            // null: pages are not kept in files
  const TrainingPolicy* const training_;  // null: no group waits for training
};

}  // namespace weft
