#include "weft/gpu/host/team_barrier.h"

#include "weft/core/thread.h"

namespace weft {

bool spin_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                        std::chrono::nanoseconds spin) noexcept {
  constexpr int kLooksBetweenClocks = 32;  // reading the clock costs as much as some of them
  const auto until = std::chrono::steady_clock::now() + spin;
  do {
    for (int look = 0; look < kLooksBetweenClocks; ++look) {
      if (word.load(std::memory_order_acquire) != seen) return true;
      pause_thread();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

void wait_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                        std::chrono::nanoseconds spin) noexcept {
  if (spin_until_changed(word, seen, spin)) return;
  word.wait(seen, std::memory_order_acquire);
}

void TeamBarrier::arrive_and_wait() {
  // The epoch first: whoever reads it after the barrier was broken also sees that it was, and
  // whoever read it before sees it change.
  const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
  if (broken_.load(std::memory_order_relaxed)) throw TeamBroken();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    return;
  }
  wait_until_changed(epoch_, epoch, spin_);
  if (broken_.load(std::memory_order_relaxed)) throw TeamBroken();
}

void TeamBarrier::break_up() noexcept {
  broken_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
}

void TeamBarrier::mend() noexcept {
  arrived_.store(0, std::memory_order_relaxed);
  broken_.store(false, std::memory_order_relaxed);
}

}  // namespace weft
