#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/states/new_snapshot.h"
#include "weft/schedule/memory/tiers/page_tiers.h"

namespace weft {

/// Snapshots of rows' states (DeviceLimits::state_bytes), and in which pages each lies. A plan
/// makes a snapshot for its sequence; later a node of the prefix tree gets it, the node whose page
/// ends where the snapshot was made. Its pages are the device's, or places in host memory.
///
/// Those on the device are in the order in which they were made or used last, because the oldest
/// is given up when its room is needed.
///
/// Owner only; a part of PrefixNodes. It allocates in the constructor, and each call takes the time
/// of one snapshot's pages. Misuse is an internal_error.
class StateSnapshots {
 public:
  static constexpr std::int32_t kNone = -1;

  /// Room for the snapshots of `each` pages that the pages and places of `tiers` can hold, which
  /// outlive it. With `each` 0 there are none.
  StateSnapshots(std::int32_t each, PageTiers& tiers);

  /// Pages of a snapshot; 0 where rows have no state.
  [[nodiscard]] std::int32_t each() const noexcept { return each_; }
  /// All snapshots.
  [[nodiscard]] std::int32_t size() const noexcept {
    return slots() - static_cast<std::int32_t>(free_.size());
  }
  [[nodiscard]] std::int32_t on_device() const noexcept { return order_.size(); }
  /// Whether the page of the device is a snapshot's.
  [[nodiscard]] bool has_page(PageId page) const noexcept {
    return each_ > 0 && is_taken_[static_cast<std::size_t>(page)];
  }

  /// Returns the slot of the node's snapshot; kNone where it has none.
  [[nodiscard]] std::int32_t of(PageId node) const noexcept {
    return each_ == 0 ? kNone : by_node_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] std::span<const PageId> pages(std::int32_t slot) const noexcept {
    return std::span(pages_).subspan(first_page_of(slot), static_cast<std::size_t>(each_));
  }
  [[nodiscard]] bool is_on_device(std::int32_t slot) const noexcept {
    return order_.contains(slot);
  }
  /// Whether the new snapshot is there still, and no node has it.
  [[nodiscard]] bool contains(const NewSnapshot& one) const noexcept {
    return one.slot != kNone && at(one.slot).serial == one.serial && at(one.slot).is_used;
  }
  /// The snapshot on the device that was made or used longest ago; only while there is one.
  [[nodiscard]] std::int32_t oldest() const noexcept { return order_.oldest(); }

  /// Notes a snapshot in these pages of the device, which were taken for it, and which no node has
  /// yet.
  NewSnapshot add(std::span<const PageId> pages);
  /// The node gets the new snapshot, unless it has one: then the new one is given up.
  void give(PageId node, const NewSnapshot& one);
  /// A snapshot on the device counts as used just now.
  void touch(std::int32_t slot);
  /// The node that has the snapshot has another number.
  void renumber(PageId from, PageId to);
  /// Has the next plan copy the pages of a snapshot on the device into places of host memory, of
  /// which enough are free.
  void move_to_host(std::int32_t slot);
  /// The snapshot is given up, and its pages or places are free.
  void drop(std::int32_t slot);
  /// The new snapshot is given up, if it is there still.
  void drop(const NewSnapshot& one) {
    if (contains(one)) drop(one.slot);
  }

  /// Checks that nodes and snapshots refer to one another; internal_error where not. For tests.
  void check() const;

 private:
  struct Slot {
    PageId node = kNoPage;
    std::uint64_t serial = 0;
    bool is_used = false;
  };

  [[nodiscard]] std::int32_t slots() const noexcept {
    return static_cast<std::int32_t>(slots_.size());
  }
  [[nodiscard]] const Slot& at(std::int32_t slot) const noexcept {
    return slots_[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] Slot& at(std::int32_t slot) noexcept {
    return slots_[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] std::size_t first_page_of(std::int32_t slot) const noexcept {
    return static_cast<std::size_t>(slot) * static_cast<std::size_t>(each_);
  }
  void leave_device(std::int32_t slot);
  void mark_pages(std::int32_t slot, bool are_taken);

  PageTiers& tiers_;
  const std::int32_t each_;
  std::vector<Slot> slots_;
  std::vector<PageId> pages_;          // by slot, `each_` of each
  std::vector<std::int32_t> free_;     // slots
  std::vector<std::int32_t> by_node_;  // slots
  std::vector<bool> is_taken_;         // by page of the device
  IdlePages order_;                    // slots on the device
  std::uint64_t serial_ = 0;
};

}  // namespace weft
