#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "weft/core/mailbox/cache_line.h"

namespace weft {

/// The state of one lane that the mailbox's consumer reads. `busy` and its two fences make pushes
/// without atomic read-modify-writes possible; see Mailbox.
struct alignas(kCacheLineBytes) MailboxLane {
  std::atomic<bool> busy{false};   ///< A push is under way.
  std::atomic<bool> in_use{true};  ///< A Producer uses the lane.
  std::size_t credits = 0;      ///< Places set aside. The lane owns the number while busy, else the
                                ///< consumer does.
  MailboxLane* next = nullptr;  ///< Never changes once the lane is listed.
};

/// The lanes of one mailbox. A lane that is given back stays listed and is used again.
class MailboxLanes {
 public:
  MailboxLanes() = default;
  MailboxLanes(const MailboxLanes&) = delete;
  MailboxLanes& operator=(const MailboxLanes&) = delete;
  ~MailboxLanes();

  /// Takes a lane that is not in use, or makes one. Lock-free, thread-safe.
  [[nodiscard]] MailboxLane& take();
  /// Makes the lane free for another take(); no push through it may be under way.
  static void give_back(MailboxLane& lane) noexcept {
    lane.in_use.store(false, std::memory_order_release);
  }

  /// Consumer, when no lane may begin a push that uses credits any more: takes the credits of the
  /// lanes that are not busy. Returns how many; `quiet` becomes whether that was all lanes.
  [[nodiscard]] std::size_t collect_credits(bool& quiet) noexcept;

 private:
  std::atomic<MailboxLane*> first_{nullptr};
};

}  // namespace weft
