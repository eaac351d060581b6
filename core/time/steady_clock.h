#pragma once

#include "weft/core/time/clock.h"

namespace weft {

/// The machine's monotonic clock; its timers are Asio's.
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] std::unique_ptr<Timer> make_timer(boost::asio::any_io_executor executor,
                                                  std::function<void()> expired) override;
};

}  // namespace weft
