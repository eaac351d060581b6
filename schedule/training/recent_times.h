#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "weft/core/time/clock.h"

namespace weft {

/// The last kCount measured times. Allocates nothing.
template <std::size_t kCount>
class RecentTimes {
 public:
  void add(Duration time) noexcept {
    times_[next_] = time;
    next_ = (next_ + 1) % kCount;
    size_ = std::min(size_ + 1, kCount);
  }
  void clear() noexcept { next_ = size_ = 0; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Returns the median, for an even number of times the greater one in the middle; zero without
  /// times.
  [[nodiscard]] Duration median() const noexcept {
    std::array<Duration, kCount> sorted = times_;
    const std::span<Duration> all = std::span(sorted).first(size_);
    std::ranges::sort(all);
    return all.empty() ? Duration{} : all[size_ / 2];
  }

 private:
  std::array<Duration, kCount> times_{};
  std::size_t next_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft
