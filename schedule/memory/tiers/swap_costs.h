#pragma once

#include <cstdint>

#include "weft/core/time/clock.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/step/step_time_model.h"

namespace weft {

/// Whether what lies in host memory is there sooner by copying it or by computing it again, from
/// what both took so far. Owner only. Allocates nothing.
class SwapCosts {
 public:
  /// `times` outlives it.
  SwapCosts(const StepTimeModel& times, const DeviceLimits& limits)
      : times_(times), page_tokens_(limits.page_tokens), window_(limits.window) {}

  /// So many pages were copied in this time. What took no time tells nothing.
  void learn(std::int32_t pages, Duration took);

  /// Whether copying so many pages, those of others that are copied first among them, is sooner
  /// than computing `computed` pages of a sequence that has `before` tokens. While one of both is
  /// not known it is so: most devices copy faster than they compute.
  [[nodiscard]] bool copying_is_sooner(std::int32_t copied, std::int64_t before,
                                       std::int32_t computed) const;

 private:
  const StepTimeModel& times_;
  const std::int32_t page_tokens_;
  const std::int64_t window_;
  double page_nanoseconds_ = 0;
};

}  // namespace weft
