#pragma once

#include <cstdint>

namespace weft {

/// The experts [first, first + count) of a layer, which a rank holds where experts are divided
/// among ranks; a count of 0: all of the layer's experts.
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
