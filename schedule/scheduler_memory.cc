// Rows and pages.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/scheduler.h"

namespace weft {
namespace {

// What is dense beside the page table: last token, position, sampler's numbers.
constexpr std::int64_t kDenseCost = 16;

}  // namespace

/// Pages for the sequence's first `tokens` tokens; those of a slab are the row's own.
bool Scheduler::take_pages(Group& group, Sequence& sequence, std::int32_t tokens) {
  const auto wanted = static_cast<std::size_t>(options_.limits.pages_for(tokens));
  if (!group.encoded && group.cross_pages.empty()) {
    const auto input = static_cast<std::int64_t>(group.spec.encoder_input.size());
    const auto cross = static_cast<std::int32_t>(options_.limits.pages_for(input));
    if (!cross_pages_.take(cross, group.cross_pages)) return false;
  }
  if (options_.layout == KvLayout::kSlab) {
    const std::int32_t first = sequence.row * options_.limits.pages_per_row();
    while (sequence.pages.size() < wanted) {
      sequence.pages.push_back(first + static_cast<std::int32_t>(sequence.pages.size()));
    }
    return true;
  }
  if (sequence.pages.size() >= wanted) return true;
  return pages_.take(static_cast<std::int32_t>(wanted - sequence.pages.size()), sequence.pages);
}

/// Makes the page at `index` the sequence's own: one that others have too is copied.
bool Scheduler::own_page(Sequence& sequence, std::size_t index) {
  if (options_.layout == KvLayout::kSlab || index >= sequence.pages.size()) return true;
  const PageId shared = sequence.pages[index];
  if (pages_.references(shared) == 1) return true;
  // Taken behind the table's end, where there is room, and put into its place.
  if (!pages_.take(1, sequence.pages)) return false;
  const PageId own = sequence.pages.back();
  sequence.pages.pop_back();
  sequence.pages[index] = own;
  sequence.table_from = std::min(sequence.table_from, index);
  copies_.push_back({shared, own});
  pages_.release({&shared, 1});
  return true;
}

std::int32_t Scheduler::take_row(Group& group, std::int32_t sequence) {
  const auto is_free = [&](std::int32_t row) {
    return rows_[static_cast<std::size_t>(row)].group == nullptr;
  };
  std::int32_t row = region_.first;
  const std::int32_t behind = region_.first + region_.count;
  while (row < behind && !is_free(row)) ++row;  // a hole among those that run
  if (row == behind && behind == options_.limits.rows) {
    row = region_.first - 1;
    region_.first = row;
    ++region_.count;
  } else if (row == behind) {
    ++region_.count;
  }
  rows_[static_cast<std::size_t>(row)] = {&group, sequence};
  ++row_changes_;
  --free_rows_;
  return row;
}

void Scheduler::release_row(Sequence& sequence) {
  if (sequence.row < 0) return;
  rows_[static_cast<std::size_t>(sequence.row)] = {};
  ++row_changes_;
  ++free_rows_;
  ++releases_;
  changed_ = true;
  sequence.row = -1;
}

void Scheduler::release(Sequence& sequence) {
  release_row(sequence);
  if (options_.layout == KvLayout::kPages) pages_.release(sequence.pages);
  sequence.pages.clear();
  ++sequence.serial;
  sequence.in_flight = 0;
  sequence.computed = 0;
  sequence.chunk = 0;
  sequence.table_from = 0;
  sequence.fresh = true;
}

void Scheduler::release_all(Group& group) {
  for (Sequence& sequence : group.sequences) release(sequence);
  cross_pages_.release(group.cross_pages);
  group.cross_pages.clear();
  group.beams_ready = 0;
  reserved_ -= group.reserved;
  group.reserved = 0;
}

void Scheduler::move_row(const PlanMove& move) {
  RowPlace& from = rows_[static_cast<std::size_t>(move.from)];
  Sequence& sequence = at(from);
  rows_[static_cast<std::size_t>(move.to)] = from;
  from = {};
  ++row_changes_;
  sequence.row = move.to;
  ++stats_.moved_rows;
  if (options_.layout != KvLayout::kSlab) return;
  const std::int32_t slab = options_.limits.pages_per_row();
  const std::int32_t to = move.to * slab;
  const auto used = static_cast<std::size_t>(options_.limits.pages_for(sequence.computed));
  for (std::size_t i = 0; i < sequence.pages.size(); ++i) {
    const PageId page = to + static_cast<std::int32_t>(i);
    if (i < used) slab_copies_.push_back({sequence.pages[i], page});
    sequence.pages[i] = page;
  }
  sequence.table_from = 0;
}

void Scheduler::set_decodes(const Sequence& sequence, bool decodes) {
  RowPlace& place = rows_[static_cast<std::size_t>(sequence.row)];
  if (std::exchange(place.decodes, decodes) != decodes) ++row_changes_;
}

void Scheduler::compact() {
  releases_compacted_ = releases_;
  if (region_.count == options_.limits.rows - free_rows_) return;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    costs_[row] = 0;
    if (rows_[row].group == nullptr) continue;
    const Sequence& sequence = at(rows_[row]);
    // A row that has not begun has nothing to move.
    costs_[row] =
        sequence.fresh ? 1 : kDenseCost + static_cast<std::int64_t>(sequence.pages.size());
  }
  moves_.clear();
  region_ = shuffle_rows(costs_, moves_);
  for (const PlanMove& move : moves_) move_row(move);
}

void Scheduler::check_invariants() const {
  check_rows();
  check_pages();
}

void Scheduler::check_rows() const {
  std::int32_t rows = 0;
  for (const auto& [key, group] : groups_) {
    for (const Sequence& sequence : group->sequences) {
      if (sequence.row < 0) continue;
      ++rows;
      if (&at(rows_[static_cast<std::size_t>(sequence.row)]) != &sequence) {
        internal_error("a sequence stands in another's row");
      }
    }
  }
  if (rows + free_rows_ != options_.limits.rows) internal_error("a row is lost");
  if (releases_ != releases_compacted_) return;  // there are holes until the next plan
  const std::int32_t end = region_.first + region_.count;
  for (std::int32_t row = 0; row < options_.limits.rows; ++row) {
    const bool inside = row >= region_.first && row < end;
    if (inside != (rows_[static_cast<std::size_t>(row)].group != nullptr)) {
      internal_error("the running rows are not contiguous");
    }
  }
}

void Scheduler::check_pages() const {
  const bool slabs = options_.layout == KvLayout::kSlab;
  std::vector<std::int32_t> references(static_cast<std::size_t>(pages_.size()));
  std::int64_t reserved = 0;
  std::size_t cross = 0;
  for (const auto& [key, group] : groups_) {
    reserved += group->reserved;
    cross += group->cross_pages.size();
    for (const Sequence& sequence : group->sequences) {
      PageId own = sequence.row * options_.limits.pages_per_row();
      for (const PageId page : sequence.pages) {
        if (slabs && page != own++) internal_error("a sequence has a page of another's slab");
        if (!slabs) ++references[static_cast<std::size_t>(page)];
      }
    }
  }
  if (reserved != reserved_) internal_error("reserved pages are miscounted");
  if (std::cmp_not_equal(cross, cross_pages_.size() - cross_pages_.free())) {
    internal_error("a cross page is lost");
  }
  for (PageId page = 0; page < pages_.size(); ++page) {
    const std::int32_t counted = references[static_cast<std::size_t>(page)];
    if (counted != pages_.references(page)) internal_error("a page's references are miscounted");
  }
  if (std::ranges::count(references, 0) != pages_.free()) internal_error("a page is lost");
}

}  // namespace weft
