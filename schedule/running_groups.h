#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/step_device.h"
#include "weft/schedule/adapters/adapter_places.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/kv_memory.h"
#include "weft/schedule/rows/row_table.h"
#include "weft/schedule/waiting/waiting_groups.h"

namespace weft {

/// Whether a sequence has the pages that its next chunk needs.
enum class ChunkRoom : std::uint8_t {
  kFree,   ///< yes, pages were free
  kTaken,  ///< yes, because other groups gave way
  kNone,   ///< no, and its own group gave way
};

/// The running groups, in the order of admission. A running group holds rows, pages and perhaps a
/// reservation. It gets them in begin(), and releases them in remove() when it has ended or in
/// preempt() when it gives way to another group; victim() decides which group gives way.
///
/// Invariants: a group is in the list if and only if its phase is not kWaiting and it is not done;
/// each of its sequences that has not ended has a row. The device's rows bound the list, since a
/// group has at least one row.
///
/// Changes the rows, the memory and the queue, but owns only the list. Owner only. When a group
/// first runs, begin() allocates all memory that the group may need, so that ticks allocate
/// nothing. A waiting group has none of it yet, since there may be many and each may ask for the
/// whole context.
class RunningGroups {
 public:
  RunningGroups(const DeviceLimits& limits, AdmissionMode admission, RowTable& rows,
                KvMemory& memory, AdapterPlaces& adapters, WaitingGroups& waiting);

  /// The running groups. begin(), remove() and preempt() change the list.
  [[nodiscard]] std::span<Group* const> all() const noexcept { return groups_; }
  [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }

  /// Takes a waiting group out of the queue and gives it its rows and its prompt's pages. These
  /// must be free, which Admission has checked; otherwise internal_error.
  void begin(Group& group);
  /// Takes back everything that an ending group holds.
  void remove(Group& group);
  /// Takes back everything that a group holds and lets it wait again. Its tokens stay; their keys
  /// and values are computed again when it resumes.
  void preempt(Group& group);
  /// Takes back the row and pages of one sequence. Its pending results will be ignored.
  void release(Group& group, Sequence& sequence);

  /// Gets pages for the sequence's chunk, from victims if necessary, and for a snapshot behind it
  /// if there is room. The list has changed unless the result is kFree.
  [[nodiscard]] ChunkRoom make_room_for_chunk(Group& group, Sequence& sequence);

  /// Returns how many of the sequence's next `chunk` tokens it computes at once: fewer if a
  /// snapshot of its state must be made on the way.
  [[nodiscard]] std::int32_t cut_chunk(const Group& group, const Sequence& sequence,
                                       std::int32_t chunk) const {
    return memory_.states().cut(group, sequence, chunk);
  }
  /// The plan being made does not compute the sequence's chunk after all.
  void take_back_snapshot(Sequence& sequence) { memory_.states().take_back(sequence); }

  /// Gets pages for guesses behind the sequence's chunk, `most` at most, and returns for how many:
  /// no group gives way for guesses, now or for the next token of any, and no page that is kept.
  [[nodiscard]] std::int32_t make_room_for_guesses(Sequence& sequence, std::int32_t most);

  /// Whether the plan being made brings pages of the sequence from host memory.
  [[nodiscard]] bool is_arriving(const Sequence& sequence) const noexcept {
    return memory_.finder().is_arriving(sequence);
  }

  /// Returns the group that gives way to `for_whom`, which need not run; null if none does. It is
  /// the `batch` group that loses the fewest computed tokens. A `chat` group gives way only to an
  /// earlier `chat` group, the last first, so that the first always ends; never to `batch`.
  [[nodiscard]] Group* victim(const Group& for_whom) const;

  /// How often groups gave way.
  [[nodiscard]] std::uint64_t preemptions() const noexcept { return preemptions_; }

 private:
  void reserve_outputs(Group& group) const;
  void release_all(Group& group);
  [[nodiscard]] Group* cheapest_batch(const Group& except) const;

  const DeviceLimits limits_;
  const AdmissionMode admission_;
  RowTable& rows_;
  KvMemory& memory_;
  AdapterPlaces& adapters_;
  WaitingGroups& waiting_;
  std::vector<Group*> groups_;
  std::uint64_t preemptions_ = 0;
};

}  // namespace weft
