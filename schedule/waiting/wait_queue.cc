#include "weft/schedule/waiting/wait_queue.h"

#include <cstring>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

/// Returns the item of a line after which an item with `order` belongs, or null if it becomes the
/// first. Searches from both ends at once.
WaitItem* place_of(std::uint64_t order, WaitItem* first, WaitItem* last) {
  for (;;) {
    if (last == nullptr || last->order <= order) return last;
    if (first->order > order) return first->previous;
    first = first->next;
    last = last->previous;
  }
}

}  // namespace

std::size_t WaitQueue::LineHash::operator()(const LineKey& key) const noexcept {
  const auto priority = static_cast<std::uint32_t>(key.priority);
  const std::uint64_t place = (std::uint64_t{priority} << 1U) | static_cast<std::uint64_t>(key.cls);
  std::uint64_t adapter = 0;  // an id is a hash
  std::memcpy(&adapter, key.adapter.bytes.data(), sizeof(adapter));
  return static_cast<std::size_t>(key.client.value() ^ adapter ^ (place * 0xd6e8feb86659fd93U));
}

WaitQueue::WaitQueue(std::size_t expected_lines)
    : lines_(expected_lines),
      turns_{RisingHeap<Turn>(expected_lines), RisingHeap<Turn>(expected_lines)} {}

void WaitQueue::push(WaitItem& item) {
  if (item.line != kNoSlot) internal_error("an item is pushed that waits already");
  const LineKey key{item.cls, item.priority, item.client, item.adapter};
  const Slot slot = lines_.find(key);
  if (slot == kNoSlot) {
    open_line(item, key);
  } else {
    join_line(item, slot);
  }
  ++items_;
}

/// The new line begins with counter 0, the lowest possible; the next look-up updates it.
void WaitQueue::open_line(WaitItem& item, const LineKey& key) {
  item.next = nullptr;
  item.previous = nullptr;
  item.line = lines_.insert(key, {&item, &item});
  turns(item.cls).insert(item.line, {item.priority, 0, item.order});
}

void WaitQueue::join_line(WaitItem& item, Slot slot) {
  Line& line = lines_[slot];
  item.line = slot;
  item.previous = place_of(item.order, line.first, line.last);
  item.next = item.previous == nullptr ? line.first : item.previous->next;
  (item.next == nullptr ? line.last : item.next->previous) = &item;
  (item.previous == nullptr ? line.first : item.previous->next) = &item;
  if (line.first != &item) return;
  Turn turn = turns(item.cls).key(slot);
  turn.order = item.order;
  turns(item.cls).set_key(slot, turn);
}

void WaitQueue::remove(WaitItem& item) {
  if (item.line == kNoSlot) internal_error("an item is removed that does not wait");
  const Slot slot = item.line;
  Line& line = lines_[slot];
  (item.next == nullptr ? line.last : item.next->previous) = item.previous;
  (item.previous == nullptr ? line.first : item.previous->next) = item.next;
  item.next = nullptr;
  item.previous = nullptr;
  item.line = kNoSlot;
  --items_;
  // The new first item arrived later, so the line's key has risen, which needs no update.
  if (line.first != nullptr) return;
  turns(item.cls).erase(slot);
  lines_.erase(slot);
}

std::size_t WaitQueue::candidates(RequestClass cls, const ServedTokens& served,
                                  std::span<WaitItem*> out, std::size_t most_of_one_line,
                                  const TakesLine& takes) const {
  std::size_t found = 0;
  if (out.empty() || most_of_one_line == 0) return 0;
  const auto true_turn = [&](Slot slot) {
    const WaitItem& first = *lines_[slot].first;
    return Turn{first.priority, served.counter(first.client), first.order};
  };
  turns(cls).visit_in_order(true_turn, [&](Slot slot) {
    if (takes && !takes(*lines_[slot].first, found)) return true;
    std::size_t of_line = 0;
    for (WaitItem* item = lines_[slot].first; item != nullptr && of_line < most_of_one_line;
         item = item->next, ++of_line) {
      if (found == out.size()) return false;
      out[found++] = item;
    }
    return found < out.size();
  });
  return found;
}

}  // namespace weft
