#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "weft/gpu/step_device.h"

namespace weft::measure {

/// Passes plans on to a device, what the shuffle moves first and by itself, and adds up how long
/// each takes. Calling the device twice is in the shuffle's time: it is rather too long.
class ShuffleTimer final : public StepDevice {
 public:
  /// Seconds. Written by the device's thread, read when nothing runs.
  struct Times {
    double shuffle = 0;
    double all = 0;
    std::size_t shuffles = 0;
  };

  ShuffleTimer(std::shared_ptr<StepDevice> device, std::shared_ptr<Times> times)
      : device_(std::move(device)), times_(std::move(times)) {}

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_->limits(); }
  void run(const Plan& plan, StepResult& result) override;

 private:
  const std::shared_ptr<StepDevice> device_;
  const std::shared_ptr<Times> times_;
  Plan moves_;
  Plan rest_;
  StepResult nothing_;
};

}  // namespace weft::measure
