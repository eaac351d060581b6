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

namespace weft {

/// Whom to admit next.
struct AdmissionChoice {
  Group* group = nullptr;  ///< null: nobody of the class can begin now
  /// A group has been overtaken too often: nobody at all may begin before it, of whatever class.
  bool blocked = false;
};

/// Decides who may begin: whether the policy lets anybody begin now, and who of those that wait
/// fits into the rows and pages that are free, or that `batch` would free for `chat`. It only
/// decides; RunningGroups carries it out.
///
/// A group that fits is passed over while a running one computes the beginning of its prompt
/// (PrefixLeaders), or while pages of it are read from files (PageFetches).
///
/// Nobody starves: inside a class a group is overtaken by at most kMaxOvertakes later ones that fit
/// where it does not; then nothing is admitted before it.
///
/// Owner only. Allocates nothing. Reads what it was given, and changes
/// `Group::overtaken`, `leads` and `looked_in_files` alone.
class Admission {
 public:
  static constexpr std::int32_t kMaxOvertakes = 32;

  Admission(const SchedulerOptions& options, const RowTable& rows, KvMemory& memory,
            const WaitingGroups& waiting, const RunningGroups& running,
            const PrefixLeaders& leaders, PageFetches* fetches = nullptr);

  /// Why the device could never run it, with the numbers; empty when it fits.
  [[nodiscard]] std::string never_fits(const GroupSpec& spec) const;

  /// Whether the policy lets groups begin now. One that fills batches from all that wait waits for
  /// the running batch to end, and kWindow then for its window or as many groups as there are rows.
  [[nodiscard]] bool is_open(TimePoint now) const;
  /// When is_open() becomes true though nothing happens before: the end of a batching window.
  [[nodiscard]] std::optional<TimePoint> opens_at() const;

  /// Chooses the next group of the class that fits, perhaps only after `batch` gave way, and counts
  /// for those before it in the queue that they were overtaken.
  [[nodiscard]] AdmissionChoice choose(RequestClass cls) const;
  /// Whether a group fits beside all that run.
  [[nodiscard]] bool fits(const Group& group) const;

 private:
  /// What a group that is to begin can have.
  struct Room {
    std::int64_t rows = 0;
    std::int64_t pages = 0;
    std::int64_t cross_pages = 0;
    std::int64_t reserved = 0;  ///< pages that others have been promised
    bool idle = false;          ///< nobody would run beside it
  };

  [[nodiscard]] Room room() const;
  [[nodiscard]] Room room_without_batch() const;
  [[nodiscard]] bool fits(const Group& group, const Room& room) const;
  [[nodiscard]] bool fits_by_sharing(const Group& group, Room room) const;
  [[nodiscard]] bool waits_for_files(Group& group) const;
  [[nodiscard]] bool fits_in_any_way(const Group& group, bool first) const;

  const SchedulerOptions options_;
  const RowTable& rows_;
  KvMemory& memory_;
  const WaitingGroups& waiting_;
  const RunningGroups& running_;
  const PrefixLeaders& leaders_;
  PageFetches* const fetches_;  // null: no files
};

}  // namespace weft
