#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

/// Which part of an op a call does. Every op is a plain function that is called `count` times with
/// the same parameters and each time another `index`, on any threads, in any order and at once;
/// together the calls do the whole and write disjoint memory. The caller sees to it that an op is
/// done before one begins that depends on it. Results do not depend on `count`.
struct Share {
  int index = 0;
  int count = 1;
  int thread =
      0;  ///< who calls, so that its workspace is found: no two calls at once have the same

  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  /// This call's part of [0, total): whole multiples of `grain`, except at the end.
  [[nodiscard]] Range of(std::int64_t total, std::int64_t grain = 1) const noexcept {
    const std::int64_t grains = (total + grain - 1) / grain;
    const auto edge = [&](std::int64_t part) {
      return std::min(total, grains * part / count * grain);
    };
    return {edge(index), edge(index + 1)};
  }
};

}  // namespace weft
