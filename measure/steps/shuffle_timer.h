#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "weft/core/time/clock.h"
#include "weft/gpu/forwarding_device.h"

namespace weft::measure {

/// Passes each plan to a device in two calls, the first with only the shuffle's moves, and notes
/// the time of each. The overhead of the second call is counted for the shuffle, so its time is
/// slightly too long.
class ShuffleTimer final : public ForwardingDevice {
 public:
  /// The times of one step, in seconds.
  struct Step {
    TimePoint began{};
    double shuffle = 0;
    double all = 0;  ///< includes the shuffle
  };
  /// Written by the device's thread; read it when nothing runs.
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
