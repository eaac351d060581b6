#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "weft/core/time/clock.h"

namespace weft {

/// A clock that goes only when told to, for tests and simulations: a day passes in a microsecond,
/// and the same run gives the same times. Starts at zero.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override;
  [[nodiscard]] std::unique_ptr<Timer> make_timer(boost::asio::any_io_executor executor,
                                                  std::function<void()> expired) override;

  /// Lets `step` pass. Timers due on the way expire in the order of their moments (armed first,
  /// expired first), each posted to its executor with the clock standing at its moment. Returns how
  /// many expired.
  std::size_t advance(Duration step);

  /// Returns the moment of the next armed timer; nullopt when none is armed.
  [[nodiscard]] std::optional<TimePoint> next_expiry() const;

 private:
  class VirtualTimer;
  using Key = std::pair<TimePoint, std::uint64_t>;

  Key enter(VirtualTimer& timer, TimePoint when);
  void leave(const Key& key);

  mutable std::mutex mutex_;
  std::map<Key, VirtualTimer*> armed_;
  std::uint64_t armings_ = 0;
  std::atomic<std::int64_t> now_{0};
};

}  // namespace weft
