#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "weft/core/request_class.h"
#include "weft/core/time/clock.h"
#include "weft/schedule/adapters/adapter_places.h"
#include "weft/schedule/group.h"
#include "weft/schedule/waiting/served_tokens.h"
#include "weft/schedule/waiting/wait_queue.h"

namespace weft {

/// The groups that wait for rows and pages, ordered by what their clients have been served. It
/// joins the WaitQueue with a ServedTokens for each class, so that a client is active exactly while
/// one of its groups waits, and tells AdapterPlaces which adapters are waited for. It does not own
/// groups.
///
/// Invariants: a group is queued if and only if its phase is kWaiting and it is not done. Groups
/// leave before they are destroyed. The submitter bounds their number. Owner only; allocates as
/// WaitQueue and ServedTokens do.
class WaitingGroups {
 public:
  /// `adapters` outlives it.
  explicit WaitingGroups(AdapterPlaces& adapters) : adapters_(adapters) {}

  /// Queues a group that has just been submitted.
  void arrive(Group& group, TimePoint now);
  /// Queues a group again that gave way; it goes before groups that arrived after it.
  void come_back(Group& group);
  /// Removes a group that will not run.
  void leave(Group& group);
  /// Removes a group that begins to run, and charges its client for the prompt, only once however
  /// often the group begins.
  void admit(Group& group);

  /// Charges the group's client for tokens that were given to it.
  void charge_output(const Group& group, std::int64_t tokens);

  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  /// The group that was submitted first of those that wait and have never begun; null: none.
  [[nodiscard]] const Group* oldest() const noexcept { return oldest_; }
  /// When the queue last became non-empty; valid only while a group waits.
  [[nodiscard]] TimePoint first_waits_since() const noexcept { return first_waits_since_; }

  /// Writes to `out` the groups of the class to admit next, best first and at most
  /// `most_of_one_line` of a client with one adapter, and returns how many. An admission changes
  /// the order. `takes` is asked of the first group of each client and adapter, with the number of
  /// groups written before, and refuses them all.
  using TakesLine = std::function<bool(Group& first, std::size_t before)>;
  [[nodiscard]] std::size_t candidates(RequestClass cls, std::span<Group*> out,
                                       std::size_t most_of_one_line,
                                       const TakesLine& takes = {}) const;

 private:
  [[nodiscard]] ServedTokens& served(const Group& group) {
    return served_[static_cast<std::size_t>(group.cls)];
  }

  void remove_from_new(Group& group) noexcept;

  AdapterPlaces& adapters_;
  WaitQueue queue_;
  // Groups that have never begun, in the order in which they were submitted.
  Group* oldest_ = nullptr;
  Group* newest_ = nullptr;
  std::array<ServedTokens, kRequestClasses.size()> served_;  // clients compete inside a class
  TimePoint first_waits_since_{};
};

}  // namespace weft
