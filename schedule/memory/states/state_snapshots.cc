#include "weft/schedule/memory/states/state_snapshots.h"

#include <algorithm>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

StateSnapshots::StateSnapshots(std::int32_t each, PageTiers& tiers)
    : tiers_(tiers),
      each_(each),
      slots_(static_cast<std::size_t>(each > 0 ? (tiers.device.size() + tiers.host.size()) / each
                                               : 0)),
      pages_(slots_.size() * static_cast<std::size_t>(each)),
      by_node_(static_cast<std::size_t>(each > 0 ? tiers.hollow.end() : 0), kNone),
      is_taken_(static_cast<std::size_t>(each > 0 ? tiers.device.size() : 0)),
      order_(slots()) {
  free_.reserve(slots_.size());
  for (std::int32_t slot = slots() - 1; slot >= 0; --slot) free_.push_back(slot);
}

void StateSnapshots::mark_pages(std::int32_t slot, bool are_taken) {
  for (const PageId page : pages(slot)) is_taken_[static_cast<std::size_t>(page)] = are_taken;
}

NewSnapshot StateSnapshots::add(std::span<const PageId> pages) {
  if (free_.empty() || std::ssize(pages) != each_) {
    internal_error("a snapshot is noted that has no room");
  }
  const std::int32_t slot = free_.back();
  free_.pop_back();
  std::ranges::copy(pages, pages_.begin() + static_cast<std::ptrdiff_t>(first_page_of(slot)));
  mark_pages(slot, true);
  at(slot) = {kNoPage, ++serial_, true};
  order_.add(slot);
  return {.slot = slot, .serial = serial_};
}

void StateSnapshots::give(PageId node, const NewSnapshot& one) {
  if (of(node) != kNone) return drop(one);
  if (at(one.slot).node != kNoPage) internal_error("a snapshot gets a second node");
  by_node_[static_cast<std::size_t>(node)] = one.slot;
  at(one.slot).node = node;
}

void StateSnapshots::touch(std::int32_t slot) {
  if (!is_on_device(slot)) return;
  order_.remove(slot);
  order_.add(slot);
}

void StateSnapshots::renumber(PageId from, PageId to) {
  const std::int32_t slot = of(from);
  if (slot == kNone) return;
  by_node_[static_cast<std::size_t>(from)] = kNone;
  by_node_[static_cast<std::size_t>(to)] = slot;
  at(slot).node = to;
}

/// Frees the pages of a snapshot on the device.
void StateSnapshots::leave_device(std::int32_t slot) {
  if (!is_on_device(slot)) internal_error("a snapshot leaves the device that is not there");
  tiers_.device.pool().release(pages(slot));
  mark_pages(slot, false);
  order_.remove(slot);
}

void StateSnapshots::move_to_host(std::int32_t slot) {
  leave_device(slot);
  for (std::size_t i = 0; std::cmp_less(i, each_); ++i) {
    PageId& page = pages_[first_page_of(slot) + i];
    page = tiers_.host.store(page);
    tiers_.host.hold(page);
  }
}

void StateSnapshots::drop(std::int32_t slot) {
  if (!at(slot).is_used) internal_error("a snapshot is given up twice");
  if (is_on_device(slot)) {
    leave_device(slot);
  } else {
    for (const PageId place : pages(slot)) tiers_.host.drop(place);
  }
  if (at(slot).node != kNoPage) by_node_[static_cast<std::size_t>(at(slot).node)] = kNone;
  at(slot) = {};
  free_.push_back(slot);
}

void StateSnapshots::check() const {
  std::int32_t with_node = 0;
  for (std::int32_t slot = 0; slot < slots(); ++slot) {
    if (at(slot).node == kNoPage) continue;
    if (of(at(slot).node) != slot) internal_error("a node does not know its snapshot");
    ++with_node;
  }
  const auto known =
      std::ranges::count_if(by_node_, [](std::int32_t slot) { return slot != kNone; });
  if (known != with_node) internal_error("a node has a snapshot that is another's");
}

}  // namespace weft
