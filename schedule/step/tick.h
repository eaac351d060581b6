#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/step/guess_policy.h"
#include "weft/schedule/step/step_time_model.h"

namespace weft {

class Group;

/// The sequence that a result is for.
struct SampleOwner {
  Group* group = nullptr;
  std::int32_t sequence = 0;
  std::uint32_t serial = 0;
};

/// One iteration: the plan, the step's results, and their sequences. Reused for later iterations.
struct Tick {
  Plan plan;
  StepResult result;
  StepShape shape;
  GuessCosts guess_costs;           ///< by which its guesses were chosen
  std::vector<SampleOwner> owners;  ///< one for each of plan.samples
  /// Sequences whose prompt this plan completes and for which no token is chosen.
  std::vector<SampleOwner> computed;

  Tick() = default;
  Tick(const Tick&) = delete;
  Tick& operator=(const Tick&) = delete;

  /// Allocates memory for any plan within `limits`; moving slabs may still make vectors grow.
  void reserve(const DeviceLimits& limits);
  void clear();
};

/// The shape of a plan's step, on a device with this DeviceLimits::window. An entry of one token,
/// guesses apart, costs what a decode costs, wherever the token comes from.
[[nodiscard]] StepShape shape_of(const Plan& plan, std::int64_t window);

/// The shape of the step that ran: the plan's, without guesses that the device did not make.
[[nodiscard]] StepShape shape_that_ran(const Tick& tick);

}  // namespace weft
