#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/gpu/forwarding_device.h"

namespace weft::measure {

/// A device whose rows never move. It computes like an executor that leaves the buffers of finished
/// sequences between those of running ones and computes them, too, as Flover does without its
/// memory shuffle (section VI.D). It passes plans on, and adds a sequence of one token to each step
/// for every such hole. That is the least cost of a hole: its sequence attends to nothing, and no
/// token is chosen for it.
///
/// Half of the device's rows stand for holes; the engine sees the other half. It works for the
/// host's device, and for sequences that are not forked.
class HoleDevice final : public ForwardingDevice {
 public:
  explicit HoleDevice(std::shared_ptr<StepDevice> device);

  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& plan, StepResult& result) override;

  /// Returns the rows of finished sequences that were computed, over all steps.
  [[nodiscard]] std::int64_t computed_holes() const noexcept { return computed_holes_; }

 private:
  void follow(const Plan& plan);
  void take_place(std::int32_t row);
  void leave_place(std::int32_t row);
  [[nodiscard]] std::int32_t holes() const;
  void add_holes(std::int32_t count);

  DeviceLimits limits_;
  std::shared_ptr<const SamplingParams> sampling_;
  std::vector<std::int32_t> place_of_row_;  ///< a row's index if no row had moved; -1 = none
  std::vector<bool> taken_;                 ///< by the index in place_of_row_
  Plan plan_;
  std::int64_t computed_holes_ = 0;
};

}  // namespace weft::measure
