#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/step/step_time_model.h"

namespace weft {

class Group;

/// Whom a result is for.
struct SampleOwner {
  Group* group = nullptr;
  std::int32_t sequence = 0;
  std::uint32_t serial = 0;
};

/// One iteration: the plan, what the step gave, and whom it is for. Made once and used again.
struct Tick {
  Plan plan;
  StepResult result;
  StepShape shape;
  std::vector<SampleOwner> owners;  ///< one for each of plan.samples
  /// Sequences whose prompt is computed with this plan and of which nothing is chosen.
  std::vector<SampleOwner> computed;

  Tick() = default;
  Tick(const Tick&) = delete;
  Tick& operator=(const Tick&) = delete;

  /// Takes memory for every plan within `limits`; slabs that move may make a plan's vectors grow.
  void reserve(const DeviceLimits& limits);
  void clear();
};

/// The shape of a plan's step, on a device with this DeviceLimits::window. An entry of one token,
/// guesses apart, costs what a decode costs, wherever the token comes from.
[[nodiscard]] StepShape shape_of(const Plan& plan, std::int64_t window);

/// The shape of what a tick's device ran: that of the plan, but for guesses that it did not make.
[[nodiscard]] StepShape shape_that_ran(const Tick& tick);

}  // namespace weft
