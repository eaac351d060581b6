#pragma once

#include <cstddef>
#include <vector>

#include "weft/gpu/ranks/rank_threads.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// The ranks of a model as one device, which runs one plan at a time on all of them, each on its
/// own thread. For a Stepper, and to measure and test steps. A pipeline of actors has an executor
/// for each rank instead.
class StepRanks final : public StepDevice {
 public:
  explicit StepRanks(DeviceRanks ranks);

  [[nodiscard]] const DeviceLimits& limits() const noexcept override {
    return ranks_.front()->limits();
  }
  /// If a rank fails, the other ranks end too: run() throws ActorFailure(kDeviceLost), now and
  /// always from then on.
  void run(const Plan& plan, StepResult& result) override;
  void abandon() noexcept override;

 private:
  const DeviceRanks ranks_;
  std::vector<StepResult> results_;  // results of ranks that choose no tokens
  RankThreads threads_;
};

}  // namespace weft
