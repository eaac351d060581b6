#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

/// Which part of an op the calling thread does. Every op is a plain function that `count` threads
/// call with the same parameters and each its own `index`; together they do the whole, in any
/// order, and write disjoint memory. The caller puts a barrier between ops that depend on each
/// other. Results do not depend on `count`.
struct Share {
  int index = 0;
  int count = 1;

  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  /// This thread's part of [0, total): whole multiples of `grain`, except at the end.
  [[nodiscard]] Range of(std::int64_t total, std::int64_t grain = 1) const noexcept {
    const std::int64_t grains = (total + grain - 1) / grain;
    const auto edge = [&](std::int64_t part) {
      return std::min(total, grains * part / count * grain);
    };
    return {edge(index), edge(index + 1)};
  }
};

}  // namespace weft
