#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "weft/core/time/clock.h"
#include "weft/gpu/forwarding_device.h"

namespace weft::measure {

/// Passes plans on to a device, with what the shuffle moves first and by itself, and adds up how
/// long each takes. Calling the device twice is in the shuffle's time, which is therefore rather
/// too long.
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
