#pragma once

#include <functional>
#include <stop_token>

namespace weft {

/// How a process that is a rank of another's model is asked to stop, and how far it is.
struct RankStop {
  /// Ends the rank soon, wherever it is.
  std::stop_token stop{};
  /// Called once, on a thread of the rank's, when it has loaded: from then on it is for the head to
  /// end it, which finishes what runs. May be null; must not throw.
  std::function<void()> on_ready{};
};

}  // namespace weft
