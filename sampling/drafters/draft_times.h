#pragma once

#include "weft/core/time/clock.h"

namespace weft {

/// The time that a draft model took in a step.
struct DraftTimes {
  Duration drafting{};  ///< for guesses
  Duration reading{};   ///< for tokens that the draft model had not read yet

  [[nodiscard]] Duration total() const noexcept { return drafting + reading; }
};

}  // namespace weft
