#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

/// A call's share of an op. Every op is a plain function. Callers call it `count` times with the
/// same parameters and a different `index` each, on any threads, in any order, also concurrently.
/// Together the calls do the whole op, and they write disjoint memory. The caller finishes an op
/// before it starts one that depends on it. Results do not depend on `count`.
struct Share {
  int index = 0;
  int count = 1;
  int thread =
      0;  ///< identifies the calling thread's workspace: concurrent calls have different numbers

  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  /// Returns this call's part of [0, total): whole multiples of `grain`, except at the end.
  [[nodiscard]] Range of(std::int64_t total, std::int64_t grain = 1) const noexcept {
    const std::int64_t grains = (total + grain - 1) / grain;
    const auto edge = [&](std::int64_t part) {
      return std::min(total, grains * part / count * grain);
    };
    return {edge(index), edge(index + 1)};
  }
};

}  // namespace weft
