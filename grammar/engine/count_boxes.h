#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::grammar {

/// How often a repetition may still come: `least` to `most` times, kNoBound: any number.
struct CountRange {
  std::uint32_t least = 0;
  std::uint32_t most = 0;

  friend auto operator<=>(const CountRange&, const CountRange&) = default;
};

/// A list of boxes, each of as many ranges as there are nested repetitions: all combinations of
/// their counts are possible. The list stands for the union of its boxes.
struct CountBoxes {
  std::size_t dimensions = 0;
  std::vector<CountRange> ranges{};  ///< [boxes, dimensions]

  [[nodiscard]] std::size_t size() const noexcept { return ranges.size() / dimensions; }
  [[nodiscard]] const CountRange* box(std::size_t index) const {
    return ranges.data() + index * dimensions;
  }
};

/// Makes fewer boxes of the same union: joins boxes that differ in one range, where these overlap
/// or adjoin, and drops boxes that lie within another. What results does not depend on the order of
/// the boxes. Returns whether there are fewer.
bool merge_boxes(CountBoxes& boxes);

/// What merging them costs, in the units of Allowance::work.
[[nodiscard]] std::size_t merge_work(const CountBoxes& boxes);

}  // namespace weft::grammar
