#pragma once

#include <cstdint>

namespace weft {

/// The experts of a layer that a rank has, [first, first + count), where each rank has whole ones;
/// a count of 0: all of the layer's.
struct ExpertRun {
  std::int32_t first = 0;
  std::int32_t count = 0;

  /// A choice that fell on another's experts is another rank's to compute.
  [[nodiscard]] constexpr bool has(std::int32_t expert) const noexcept {
    return count == 0 || (expert >= first && expert - first < count);
  }
  friend bool operator==(const ExpertRun&, const ExpertRun&) = default;
};

}  // namespace weft
