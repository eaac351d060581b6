#include "weft/core/mailbox/mailbox_lanes.h"

#include <utility>

namespace weft {

MailboxLanes::~MailboxLanes() {
  for (MailboxLane* lane = first_.load(std::memory_order_acquire); lane != nullptr;) {
    const std::unique_ptr<MailboxLane> owned(lane);
    lane = owned->next;
  }
}

MailboxLane& MailboxLanes::take() {
  for (MailboxLane* lane = first_.load(std::memory_order_acquire); lane != nullptr;
       lane = lane->next) {
    bool free = false;
    if (lane->in_use.compare_exchange_strong(free, true, std::memory_order_acq_rel)) return *lane;
  }
  auto lane = std::make_unique<MailboxLane>();
  lane->next = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(lane->next, lane.get(), std::memory_order_acq_rel)) {
  }
  return *lane.release();
}

std::size_t MailboxLanes::collect_credits(bool& quiet) noexcept {
  std::size_t credits = 0;
  quiet = true;
  for (MailboxLane* lane = first_.load(std::memory_order_acquire); lane != nullptr;
       lane = lane->next) {
    if (lane->busy.load(std::memory_order_acquire)) {
      quiet = false;
    } else {
      credits += std::exchange(lane->credits, 0);
    }
  }
  return credits;
}

}  // namespace weft
