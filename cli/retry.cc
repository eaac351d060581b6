#include "weft/cli/retry.h"

#include <algorithm>
#include <utility>

namespace weft::cli {
namespace {

/// The longest pause. A longer one would leave a server idle that has room again.
constexpr Retry::Pause kLongestPause{15'000};

}  // namespace

std::optional<Retry::Pause> Retry::after(Cause cause, Pause at_least) {
  if (cause == Cause::kFailed && ++failures_ == kTries) return std::nullopt;
  const Pause pause = std::exchange(next_, std::min(2 * next_, kLongestPause));
  return std::max(pause, at_least);
}

}  // namespace weft::cli
