#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/step_device.h"

namespace weft::bench {

/// Passes steps on to a device and notes how long each took and how long the device had waited for
/// it.
class GapMeter final : public StepDevice {
 public:
  explicit GapMeter(std::unique_ptr<StepDevice> device) : device_(std::move(device)) {
    gaps_.reserve(kMost);
    steps_.reserve(kMost);
  }

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return device_->limits(); }

  void run(const Plan& plan, StepResult& result) override {
    const TimePoint began = std::chrono::steady_clock::now();
    device_->run(plan, result);
    const TimePoint ended = std::chrono::steady_clock::now();
    if (last_end_ != TimePoint{} && steps_.size() < kMost) {
      gaps_.push_back(seconds(began - last_end_));
      steps_.push_back(seconds(ended - began));
    }
    last_end_ = ended;
  }

  /// Seconds, one for each step but the first; read when nothing runs.
  [[nodiscard]] const std::vector<double>& steps() const noexcept { return steps_; }
  [[nodiscard]] const std::vector<double>& gaps() const noexcept { return gaps_; }

 private:
  static constexpr std::size_t kMost = 1 << 20;
  static double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  const std::unique_ptr<StepDevice> device_;
  TimePoint last_end_{};
  std::vector<double> gaps_;
  std::vector<double> steps_;
};

}  // namespace weft::bench
