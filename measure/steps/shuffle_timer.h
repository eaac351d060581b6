#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "weft/core/time/clock.h"
#include "weft/gpu/forwarding_device.h"

namespace weft::measure {

/// Passes plans on to a device in two calls, of which the first has the shuffle's moves alone, and
/// notes the time of each. The cost of the second call counts as the shuffle's, whose time is
/// therefore rather too long.
class ShuffleTimer final : public ForwardingDevice {
 public:
  /// The times of one step, in seconds.
  struct Step {
    TimePoint began{};
    double shuffle = 0;
    double all = 0;  ///< the shuffle included
  };
  /// Written by the device's thread; to be read when nothing runs.
  using Steps = std::deque<Step>;

  ShuffleTimer(std::shared_ptr<StepDevice> device, std::shared_ptr<Steps> steps)
      : ForwardingDevice(std::move(device)), steps_(std::move(steps)) {}

  void run(const Plan& plan, StepResult& result) override;

 private:
  void part(const Plan& plan);

  const std::shared_ptr<Steps> steps_;
  Plan moves_;
  Plan rest_;
  StepResult nothing_;
};

}  // namespace weft::measure
