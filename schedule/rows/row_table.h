#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/plan.h"
#include "weft/schedule/group.h"
#include "weft/schedule/rows/row_shuffle.h"

namespace weft {

/// The sequence in a row of the batch.
struct RowPlace {
  Group* group = nullptr;  ///< null: the row is free
  std::int32_t sequence = 0;
  bool decodes = false;  ///< all known tokens of the sequence are in a plan
};

/// The rows of the batch: which sequence each row has, which rows are free, and which region
/// [first, first + count) the running rows fill. It owns `Sequence::row` of every sequence, and
/// refers to groups, which it does not own.
///
/// Invariants: a sequence has at most one row, and `Sequence::row` names it; every taken row lies
/// inside the region. Released rows leave holes in the region, which compact() removes. A region
/// without holes has only running rows.
///
/// Owner only. It allocates in the constructor alone.
class RowTable {
 public:
  explicit RowTable(std::int32_t rows);

  [[nodiscard]] std::int32_t size() const noexcept {
    return static_cast<std::int32_t>(places_.size());
  }
  [[nodiscard]] std::int32_t free() const noexcept { return free_; }
  [[nodiscard]] RowRegion region() const noexcept { return region_; }

  [[nodiscard]] const RowPlace& at(std::int32_t row) const noexcept {
    return places_[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] bool is_free(std::int32_t row) const noexcept { return at(row).group == nullptr; }
  /// The sequence in a row that is not free.
  [[nodiscard]] Sequence& sequence_in(std::int32_t row) const {
    const RowPlace& place = at(row);
    return place.group->sequences[static_cast<std::size_t>(place.sequence)];
  }

  /// Gives the sequence a row: a hole of the region, or else the row behind or before the region,
  /// so that joining alone causes no moves. No free row is an internal_error.
  void take(Group& group, std::int32_t sequence);
  /// Gives the sequence's row back, if it has one.
  void release(Sequence& sequence);
  /// Notes whether the sequence in the row decodes.
  void set_decodes(std::int32_t row, bool decodes);

  /// Makes the running rows contiguous by the cheapest moves (shuffle_rows) and returns the moves,
  /// valid until the next call; none if there are no holes. A row's cost is its page table and
  /// other state outside the KV cache; a row whose sequence has not begun costs almost nothing.
  std::span<const PlanMove> compact();

  /// Counts changes of at() for any row.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  /// How many rows were released, ever.
  [[nodiscard]] std::uint64_t releases() const noexcept { return releases_; }
  /// How many rows have moved, ever.
  [[nodiscard]] std::uint64_t moved() const noexcept { return moved_; }

  /// Checks the invariants above against all groups; a broken one is an internal_error. For tests:
  /// it reads every sequence.
  void check(std::span<Group* const> groups) const;

 private:
  [[nodiscard]] std::int32_t find_free();
  void move(const PlanMove& move);

  std::vector<RowPlace> places_;  // by row
  RowRegion region_{};
  std::int32_t free_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t releases_ = 0;
  std::uint64_t releases_compacted_ = 0;  // releases before the last compact()
  std::uint64_t moved_ = 0;
  std::vector<PlanMove> moves_;      // the last compact()'s moves
  std::vector<std::int64_t> costs_;  // each row's cost of moving
};

}  // namespace weft
