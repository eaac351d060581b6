#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weft/core/ids.h"
#include "weft/core/request_class.h"
#include "weft/schedule/waiting/keyed_pool.h"
#include "weft/schedule/waiting/rising_heap.h"
#include "weft/schedule/waiting/served_tokens.h"

namespace weft {

/// What waits, as a base of what the scheduler keeps of it. The first four fields are the owner's
/// and do not change while it is queued; the others are the queue's. A queued item neither moves
/// nor dies.
struct WaitItem {
  RequestClass cls = RequestClass::kChat;
  std::int32_t priority = 0;  // low first
  ClientId client;
  /// When it arrived, as a number that counts up. Preempted work keeps its own, and so goes before
  /// what came later.
  std::uint64_t order = 0;

  WaitItem* next = nullptr;
  WaitItem* previous = nullptr;
  Slot line = kNoSlot;  // kNoSlot: not queued
};

/// Who waits for rows and pages, in the order in which to admit: by class, inside a class by
/// priority, inside a priority by the client that has been served least, inside a client by
/// arrival. Owns nothing of what it links.
///
/// Items of one class, priority and client are a list, a *line*; the lines of a class are a heap by
/// (priority, counter, arrival of the first). Counters rise without the queue being told, so the
/// heap catches up when it is looked at (RisingHeap). Costs, with L lines, none of which grow with
/// the items in a line:
///   push           O(1) behind the others of its line, O(log L) as its first. An item that came
///                  before others looks for its position from both ends at once: what is preempted
///                  passes only what it had overtaken and what was preempted before it.
///   remove         O(1), O(log L) for the last of a line.
///   candidates     k of them from j lines: O(k + j log j), and O(log L) for each line looked at
///                  that was charged or lost its first since the last look.
///
/// Owner only. Allocates when it holds more lines than ever and than were `expected`, or is asked
/// for candidates of more lines (from 64 on) than ever.
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

  /// Writes the first of the class to `out` in the order in which they should be admitted, as
  /// counters stand now, and returns how many. Equal counters: the earlier arrival first. Nothing
  /// is removed. An admission is charged and moves its client back, so look again after it; further
  /// candidates are for when the first does not fit. `most_of_one_line` keeps a client whose items
  /// do not fit from filling all of `out`.
  ///
  /// `served` is the same object each time that a class is asked for, and counters of those who
  /// wait do not fall.
  [[nodiscard]] std::size_t candidates(RequestClass cls, const ServedTokens& served,
                                       std::span<WaitItem*> out,
                                       std::size_t most_of_one_line = kUnlimited) const;

 private:
  struct LineKey {
    RequestClass cls = RequestClass::kChat;
    std::int32_t priority = 0;
    ClientId client;

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
  // Each class has a heap of the slots of its lines; a look brings the keys up to date.
  mutable std::array<RisingHeap<Turn>, kRequestClasses.size()> turns_;
};

}  // namespace weft
