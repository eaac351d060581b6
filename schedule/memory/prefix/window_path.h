#pragma once

#include <cstdint>

#include "weft/gpu/step_device.h"

namespace weft {

/// Tells how far a sequence can go on along a path of full pages of which some are missing: to
/// where the window at the end reaches none of these. Where some layer sees everything that is up
/// to the first one. Owner only.
class WindowPath {
 public:
  explicit WindowPath(const DeviceLimits& limits) noexcept : limits_(limits) {}

  /// The path goes on with a page that is there, or is missing. `can_end`: behind it can be gone on
  /// as far as anything but pages is concerned.
  void add(bool is_there, bool can_end = true) noexcept {
    ++pages_;
    if (!is_there) behind_missing_ = pages_;
    if (can_end && first_needed(pages_) >= behind_missing_) end_ = pages_;
  }
  /// How many pages of those added the longest path has that can be gone on from.
  [[nodiscard]] std::int32_t end() const noexcept { return end_; }
  /// Whether no page that is added can make end() larger.
  [[nodiscard]] bool is_over() const noexcept { return limits_.window == 0 && behind_missing_ > 0; }

  /// The first page that is needed at the end of so many.
  [[nodiscard]] std::int32_t first_needed(std::int32_t pages) const noexcept {
    return static_cast<std::int32_t>(
        limits_.first_page_needed(std::int64_t{pages} * limits_.page_tokens));
  }

 private:
  const DeviceLimits& limits_;
  std::int32_t pages_ = 0;
  std::int32_t behind_missing_ = 0;
  std::int32_t end_ = 0;
};

}  // namespace weft
