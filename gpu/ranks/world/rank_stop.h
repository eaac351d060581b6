#pragma once

#include <functional>
#include <stop_token>

namespace weft {

/// Stops a rank process from outside, and reports when its model has loaded.
struct RankStop {
  /// Ends the rank soon, in any state.
  std::stop_token stop{};
  /// Called once, on a thread of the rank, when its model has loaded. From then on only the head
  /// should end the rank, since requests run on it. May be null; must not throw.
  std::function<void()> on_ready{};
};

}  // namespace weft
