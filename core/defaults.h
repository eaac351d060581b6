#pragma once

#include <chrono>
#include <cstddef>

/// Every bound of the actor runtime, each with its reason and what happens when it is reached.
namespace weft::defaults {

/// Messages that may wait in a mailbox. Some ten ticks' worth of the busiest edge (256 rows, a few
/// messages each): a longer queue would only hide that the receiver is too slow. When full, a push
/// is refused and the sender answers.
inline constexpr std::size_t kMailboxCapacity = 4096;

/// Messages an event-driven actor handles before it lets others use the executor. At well under 1
/// us each that is tens of microseconds, less than a network round trip; the cost of one post,
/// about 0.2 us, is spread over them.
inline constexpr std::size_t kMessagesPerActivation = 64;

/// How long a dedicated thread looks for work before it parks. Parking and being woken costs about
/// this much (bench/core/wakeup_bench), and waiting as long as the thing avoided costs is at most
/// twice the best there is (Karlin et al., Competitive randomized algorithms for non-uniform
/// problems, SODA 1990, section 2).
inline constexpr std::chrono::microseconds kSpinBeforePark{20};

/// Failures that one actor may restart from within kRestartWindow. An actor that fails more often
/// will not get well by itself: the engine goes to not-ready instead of failing request after
/// request.
inline constexpr std::size_t kMaxRestarts = 5;
inline constexpr std::chrono::seconds kRestartWindow{10};

}  // namespace weft::defaults
