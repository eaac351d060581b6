#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "weft/core/metrics.h"

namespace weft {

/// Measures the steps of one I/O thread, because all other connections of the thread wait during a
/// step. Steps shorter than net_defaults::kCountedStall are not counted, since the network's own
/// delays are as long. Owner only.
class IoStalls {
 public:
  using Seconds = std::chrono::duration<double>;
  /// The receivers of stalls. Both must outlive the thread; either may be missing.
  struct Report {
    Histogram* seconds = nullptr;                ///< weft_io_stall_seconds
    std::function<void(Seconds)> on_long_stall;  ///< called for stalls of
                                                 ///< net_defaults::kLoggedStall and more
  };

  IoStalls() = default;
  explicit IoStalls(Report report) : report_(std::move(report)) {}
  IoStalls(const IoStalls&) = delete;
  IoStalls& operator=(const IoStalls&) = delete;

  /// One step, from its construction to its destruction. A step inside another one is part of it.
  class Step {
   public:
    explicit Step(IoStalls* stalls) noexcept;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step();

   private:
    IoStalls* stalls_;  // null: there is no report, or the step is inside another
    std::chrono::steady_clock::time_point began_{};
  };

 private:
  void tell(Seconds took) noexcept;

  const Report report_{};
  bool in_step_ = false;
};

}  // namespace weft
