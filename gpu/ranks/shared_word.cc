#include "weft/gpu/ranks/shared_word.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "weft/gpu/host/piece_board.h"

namespace weft {
namespace {

// A sleeper checks `lost` this often even if it is not woken: the waking process may be dead.
constexpr long kSleepNanoseconds = 50'000'000;

}  // namespace

std::uint32_t SharedWord::increment() noexcept {
  // Sequentially consistent with the sleeper's increment of the count and its second read: at least
  // one of the two threads sees the other's write.
  const std::uint32_t before = value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) wake();
  return before;
}

void SharedWord::wake() noexcept {
  // Not FUTEX_PRIVATE: the sleeper may be another process.
  ::syscall(SYS_futex, &value_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedWord::wait(std::uint32_t seen, std::chrono::nanoseconds spin,
                      const std::atomic<std::uint32_t>& lost) noexcept {
  if (spin_until_changed(value_, seen, spin)) return;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const timespec most{0, kSleepNanoseconds};
  while (value_.load(std::memory_order_seq_cst) == seen &&
         lost.load(std::memory_order_acquire) == 0) {
    ::syscall(SYS_futex, &value_, FUTEX_WAIT, seen, &most, nullptr, 0);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weft
