#pragma once

#include <cstdint>

namespace weft {

/// The experts of a layer that a rank holds, [first, first + count), where each rank has whole
/// experts; a count of 0: all of the layer's experts.
struct ExpertRun {
  std::int32_t first = 0;
  std::int32_t count = 0;

  /// Whether this rank holds the expert; another rank computes the choices of its own experts.
  [[nodiscard]] constexpr bool has(std::int32_t expert) const noexcept {
    return count == 0 || (expert >= first && expert - first < count);
  }
  friend bool operator==(const ExpertRun&, const ExpertRun&) = default;
};

}  // namespace weft
