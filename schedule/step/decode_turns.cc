#include "weft/schedule/step/decode_turns.h"

#include <algorithm>

namespace weft {

DecodeTurns::DecodeTurns(const DeviceLimits& limits)
    : shares_(static_cast<std::size_t>(limits.stages)) {
  if (limits.stages > 1) waiting_.reserve(static_cast<std::size_t>(limits.rows));
}

void DecodeTurns::begin(std::uint64_t tick) {
  tick_ = tick;
  share(tick) = {tick, 0};
  waiting_.clear();
  decoding_ = 0;
}

void DecodeTurns::add(std::uint64_t last_tick, bool can) {
  ++decoding_;
  if (can) waiting_.push_back(last_tick);
}

/// Returns the larger share if too few of the preceding ticks had it; at least one, since a share
/// of none would delay a sequence needlessly.
std::size_t DecodeTurns::share_of_tick() const {
  const std::size_t smaller = decoding_ / shares_.size();
  const auto is_larger = [&](const Share& one) {
    return one.tick < tick_ && one.tick + shares_.size() > tick_ && one.taken > smaller;
  };
  const auto larger = static_cast<std::size_t>(std::ranges::count_if(shares_, is_larger));
  const bool has_larger = larger < decoding_ % shares_.size();
  return std::max<std::size_t>(smaller + (has_larger ? 1 : 0), 1);
}

void DecodeTurns::share_out() {
  const std::size_t count = std::min(share_of_tick(), waiting_.size());
  newest_ = of_newest_ = 0;
  if (count == 0) return;
  const auto last = waiting_.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::ranges::nth_element(waiting_, last);
  newest_ = *last;
  const auto before =
      std::count_if(waiting_.begin(), last, [this](std::uint64_t tick) { return tick < newest_; });
  of_newest_ = count - static_cast<std::size_t>(before);
}

bool DecodeTurns::take(std::uint64_t last_tick) noexcept {
  if (last_tick > newest_ || (last_tick == newest_ && of_newest_ == 0)) return false;
  if (last_tick == newest_) --of_newest_;
  ++share(tick_).taken;
  return true;
}

}  // namespace weft
