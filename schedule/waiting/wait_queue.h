#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "weft/core/ids.h"
#include "weft/core/request_class.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/schedule/waiting/keyed_pool.h"
#include "weft/schedule/waiting/rising_heap.h"
#include "weft/schedule/waiting/served_tokens.h"

namespace weft {

/// The base of an item that waits. The owner sets the first five fields, which do not change
/// while the item is queued; the queue owns the others. A queued item must not move or be
/// destroyed.
struct WaitItem {
  RequestClass cls = RequestClass::kChat;
  std::int32_t priority = 0;  // low first
  ClientId client;
  /// The rank of its arrival. Preempted work keeps its rank, and so goes before later
  /// arrivals.
  std::uint64_t order = 0;
  AdapterId adapter{};  // that it needs

  WaitItem* next = nullptr;
  WaitItem* previous = nullptr;
  Slot line = kNoSlot;  // kNoSlot: not queued
};

/// The queue of items that wait for rows and pages, in the order of admission: by class, inside a
/// class by priority, inside a priority the least served client first, inside a client by
/// arrival. It does not own the items.
///
/// Items of one class, priority, client and adapter form a list, a *line*. The lines of a class are
/// a heap by (priority, counter, arrival of the first). Counters rise without notice, so a look-up
/// updates the heap (RisingHeap). Costs with L lines, independent of the number of items in a
/// line:
///   push           O(1) behind the others of its line, O(log L) as its first. An item that came
///                  before others looks for its position from both ends at once: what is preempted
///                  passes only what it had overtaken and what was preempted before it.
///   remove         O(1), O(log L) for the last of a line.
///   candidates     k of them from j lines: O(k + j log j), and O(log L) for each line looked at
///                  that was charged or lost its first since the last look.
///
/// Owner only. Allocates when it holds more lines than ever and than `expected`, or when candidates
/// come from more lines than ever (above 64).
class WaitQueue {
 public:
  /// Twice the prompts that a well-run server lets wait, were each a client's only one.
  static constexpr std::size_t kExpectedLines = 4096;
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  explicit WaitQueue(std::size_t expected_lines = kExpectedLines);
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  /// An item that is queued already is an internal_error, and so is the removal of one that is not.
  void push(WaitItem& item);
  void remove(WaitItem& item);

  [[nodiscard]] std::size_t size() const noexcept { return items_; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// Writes the first items of the class to `out` in the order of admission by the present counters
  /// (ties: the earlier arrival), and returns how many. Removes none. An admission is charged and
  /// moves its client back, so call it again after each; the other candidates are for when the
  /// first does not fit. `most_of_one_line` keeps a client whose items do not fit from filling
  /// `out`.
  ///
  /// `takes` is asked of each line that is come to, by its first item, with the number of items
  /// written before; a line that it refuses is left out. Null: none is.
  ///
  /// Each class must always be asked with the same `served`, in which counters of waiting clients
  /// do not fall.
  using TakesLine = std::function<bool(WaitItem& first, std::size_t before)>;
  [[nodiscard]] std::size_t candidates(RequestClass cls, const ServedTokens& served,
                                       std::span<WaitItem*> out,
                                       std::size_t most_of_one_line = kUnlimited,
                                       const TakesLine& takes = {}) const;

 private:
  struct LineKey {
    RequestClass cls = RequestClass::kChat;
    std::int32_t priority = 0;
    ClientId client;
    AdapterId adapter{};

    friend bool operator==(const LineKey&, const LineKey&) = default;
  };
  struct LineHash {
    std::size_t operator()(const LineKey& key) const noexcept;
  };
  /// Ascending by order.
  struct Line {
    WaitItem* first = nullptr;
    WaitItem* last = nullptr;
  };
  struct Turn {
    std::int32_t priority = 0;
    double counter = 0;
    std::uint64_t order = 0;

    friend auto operator<=>(const Turn&, const Turn&) = default;
  };

  [[nodiscard]] RisingHeap<Turn>& turns(RequestClass cls) const {
    return turns_[static_cast<std::size_t>(cls)];
  }
  void open_line(WaitItem& item, const LineKey& key);
  void join_line(WaitItem& item, Slot slot);

  KeyedPool<LineKey, Line, LineHash> lines_;
  std::size_t items_ = 0;
  // Each class has a heap of the slots of its lines; look-ups update the keys.
  mutable std::array<RisingHeap<Turn>, kRequestClasses.size()> turns_;
};

}  // namespace weft
