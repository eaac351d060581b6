#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "weft/core/time/clock.h"
#include "weft/gpu/step_device.h"

namespace weft::measure {

/// Passes plans on to a device, with what the shuffle moves first and by itself, and adds up how
/// long each takes. Calling the device twice is in the shuffle's time, which is therefore rather
/// too long.
class ShuffleTimer final : public StepDevice {
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
      : device_(std::move(device)), steps_(std::move(steps)) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_->limits(); }
  void run(const Plan& plan, StepResult& result) override;
  [[nodiscard]] bool samples() const noexcept override { return device_->samples(); }
  void abandon() noexcept override { device_->abandon(); }

 private:
  void part(const Plan& plan);

  const std::shared_ptr<StepDevice> device_;
  const std::shared_ptr<Steps> steps_;
  Plan moves_;
  Plan rest_;
  StepResult nothing_;
};

}  // namespace weft::measure
