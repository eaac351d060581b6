#include "weft/schedule/rows/row_table.h"

#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

// The cost of a row's state besides the page table (last token, position, the sampler's numbers),
// in units of a page table's entry.
constexpr std::int64_t kDenseCost = 16;

}  // namespace

RowTable::RowTable(std::int32_t rows)
    : places_(static_cast<std::size_t>(rows)), free_(rows), costs_(places_.size()) {
  moves_.reserve(places_.size());
}

void RowTable::take(Group& group, std::int32_t sequence) {
  if (free_ == 0) internal_error("a row is taken where none is free");
  const std::int32_t row = find_free();
  places_[static_cast<std::size_t>(row)] = {&group, sequence};
  sequence_in(row).row = row;
  ++changes_;
  --free_;
}

/// Finds the row that take() gives, and extends the region to contain it.
std::int32_t RowTable::find_free() {
  const std::int32_t behind = region_.first + region_.count;
  for (std::int32_t row = region_.first; row < behind; ++row) {
    if (is_free(row)) return row;
  }
  ++region_.count;
  if (behind < size()) return behind;
  return --region_.first;
}

void RowTable::release(Sequence& sequence) {
  if (sequence.row < 0) return;
  places_[static_cast<std::size_t>(sequence.row)] = {};
  sequence.row = -1;
  ++changes_;
  ++free_;
  ++releases_;
}

void RowTable::set_decodes(std::int32_t row, bool decodes) {
  RowPlace& place = places_[static_cast<std::size_t>(row)];
  if (std::exchange(place.decodes, decodes) != decodes) ++changes_;
}

std::span<const PlanMove> RowTable::compact() {
  releases_compacted_ = releases_;
  moves_.clear();
  if (region_.count == size() - free_) return moves_;
  for (std::int32_t row = 0; row < size(); ++row) {
    std::int64_t& cost = costs_[static_cast<std::size_t>(row)];
    cost = 0;
    if (is_free(row)) continue;
    const Sequence& sequence = sequence_in(row);
    cost = sequence.fresh ? 1 : kDenseCost + static_cast<std::int64_t>(sequence.table.pages.size());
  }
  region_ = shuffle_rows(costs_, moves_);
  for (const PlanMove& one : moves_) move(one);
  return moves_;
}

void RowTable::move(const PlanMove& move) {
  RowPlace& from = places_[static_cast<std::size_t>(move.from)];
  places_[static_cast<std::size_t>(move.to)] = std::exchange(from, {});
  sequence_in(move.to).row = move.to;
  ++changes_;
  ++moved_;
}

void RowTable::check(std::span<Group* const> groups) const {
  std::int32_t taken = 0;
  for (const Group* group : groups) {
    for (const Sequence& sequence : group->sequences) {
      if (sequence.row < 0) continue;
      ++taken;
      if (is_free(sequence.row) || &sequence_in(sequence.row) != &sequence) {
        internal_error("a sequence stands in another's row");
      }
    }
  }
  if (taken + free_ != size()) internal_error("a row is lost");
  const bool compacted = releases_ == releases_compacted_;
  const std::int32_t end = region_.first + region_.count;
  for (std::int32_t row = 0; row < size(); ++row) {
    const bool inside = row >= region_.first && row < end;
    if (!inside && !is_free(row)) internal_error("a running row lies outside of the region");
    if (inside && compacted && is_free(row)) internal_error("the running rows are not contiguous");
  }
}

}  // namespace weft
