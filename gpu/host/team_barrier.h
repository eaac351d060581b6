#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

#include "weft/core/mailbox/cache_line.h"

namespace weft {

/// Looks for up to `spin` whether `word` is no longer `seen`; says whether it is not.
[[nodiscard]] bool spin_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                                      std::chrono::nanoseconds spin) noexcept;

/// The same, then sleeps until somebody notifies the word.
void wait_until_changed(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                        std::chrono::nanoseconds spin) noexcept;

/// What a member of a team is thrown out of its work with when another one failed.
class TeamBroken : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "another member of the team failed";
  }
};

/// Where the members of a team meet between two ops: what each wrote before, all may read after.
/// The last to come turns an epoch over for which the others wait (a central sense-reversing
/// barrier; Mellor-Crummey and Scott, Algorithms for scalable synchronization, TOCS 1991, section
/// 3.1). Can be broken, so that a member that will not come does not leave the others waiting.
class TeamBarrier {
 public:
  TeamBarrier(int members, std::chrono::nanoseconds spin) noexcept
      : members_(members), spin_(spin) {}

  /// Every member, equally often. Throws TeamBroken once the barrier is broken.
  void arrive_and_wait();

  /// Thread-safe. Throws out all who wait, and all who come until mend().
  void break_up() noexcept;

  /// Only while no member is inside.
  void mend() noexcept;

 private:
  const int members_;
  const std::chrono::nanoseconds spin_;
  alignas(kCacheLineBytes) std::atomic<int> arrived_{0};
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<bool> broken_{false};
};

}  // namespace weft
