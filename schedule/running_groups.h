#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/rows/row_table.h"
#include "weft/schedule/waiting/waiting_groups.h"

namespace weft {

/// Whether a sequence has the pages that its next chunk needs.
enum class ChunkRoom : std::uint8_t {
  kFree,   ///< yes, from what was free
  kTaken,  ///< yes, but other groups gave way for it
  kNone,   ///< no: its own group gave way
};

/// The groups that run, in the order of their admission. What a group holds while it runs (rows,
/// pages, a reservation) it gets in begin(), and gives back in remove() when it has ended or in
/// preempt() when it gives way to another. Who gives way is decided here (victim()).
///
/// What holds: a group is in the list if and only if its phase is not kWaiting and it is not done;
/// each of its sequences that has not ended has a row. Bounded by the rows of the device: a group
/// has one at least.
///
/// Changes the rows, the memory and the queue that it was given; owns the list alone. Owner only.
/// begin() allocates when a group runs for the first time, all that it may come to need later, so
/// that its ticks allocate nothing; those who wait have none of it yet, as they may be many and
/// each may ask for the whole context.
class RunningGroups {
 public:
  RunningGroups(const DeviceLimits& limits, AdmissionMode admission, RowTable& rows,
                KvMemory& memory, WaitingGroups& waiting);

  /// The groups that run. Preempting, removing and beginning change the list.
  [[nodiscard]] std::span<Group* const> all() const noexcept { return groups_; }
  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }

  /// Takes a waiting group out of the queue and gives it its rows and its prompt's pages. They must
  /// be free: whoever admits counts them before, and an internal_error says that it did not.
  void begin(Group& group);
  /// Takes back all that a group holds, whose end is near.
  void remove(Group& group);
  /// Takes back all that a group holds and lets it wait again. Its tokens stay; their keys and
  /// values are computed again when it goes on.
  void preempt(Group& group);
  /// Takes back the row and pages of one sequence. Its results under way do not count any more.
  void release(Group& group, Sequence& sequence);

  /// Gets the pages for the sequence's chunk, from victims if need be, and for a snapshot behind
  /// it, if there is room. The list has changed unless the answer is kFree.
  [[nodiscard]] ChunkRoom make_room_for_chunk(Group& group, Sequence& sequence);

  /// Of the sequence's next `chunk` tokens, how many it computes at once: a snapshot of its state
  /// may have to be made on the way.
  [[nodiscard]] std::int32_t cut_chunk(const Group& group, const Sequence& sequence,
                                       std::int32_t chunk) const {
    return memory_.states().cut(group, sequence, chunk);
  }
  /// The plan in the making does not compute the sequence's chunk after all.
  void take_back_snapshot(Sequence& sequence) { memory_.states().take_back(sequence); }

  /// Gets pages for guesses behind the sequence's chunk, `most` at most, and returns for how many:
  /// no group gives way for guesses, now or for the next token of any, and no page that is kept.
  [[nodiscard]] std::int32_t make_room_for_guesses(Sequence& sequence, std::int32_t most);

  /// Whether pages of the sequence come from host memory with the plan in the making.
  [[nodiscard]] bool is_arriving(const Sequence& sequence) const noexcept {
    return memory_.finder().is_arriving(sequence);
  }

  /// The group that gives way for `for_whom`, which need not run; null where none has to. It is the
  /// group of batch that loses the fewest computed tokens. Chat gives way only to chat that comes
  /// before it, the last first, so that the first always ends; to batch it never does.
  [[nodiscard]] Group* victim(const Group& for_whom) const;

  /// How often a group gave way.
  [[nodiscard]] std::uint64_t preemptions() const noexcept { return preemptions_; }

 private:
  void reserve_outputs(Group& group) const;
  void release_all(Group& group);
  [[nodiscard]] Group* cheapest_batch(const Group& except) const;

  const DeviceLimits limits_;
  const AdmissionMode admission_;
  RowTable& rows_;
  KvMemory& memory_;
  WaitingGroups& waiting_;
  std::vector<Group*> groups_;
  std::uint64_t preemptions_ = 0;
};

}  // namespace weft
