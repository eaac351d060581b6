#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::grammar {

/// How many more times a repetition may come: `least` to `most`; kNoBound: any number.
struct CountRange {
  std::uint32_t least = 0;
  std::uint32_t most = 0;

  friend auto operator<=>(const CountRange&, const CountRange&) = default;
};

/// A list of boxes. A box has a range for each nested repetition, and allows all combinations of
/// counts in its ranges. The list stands for the union of its boxes.
struct CountBoxes {
  std::size_t dimensions = 0;
  std::vector<CountRange> ranges{};  ///< [boxes, dimensions]

  [[nodiscard]] std::size_t size() const noexcept { return ranges.size() / dimensions; }
  [[nodiscard]] const CountRange* box(std::size_t index) const {
    return ranges.data() + index * dimensions;
  }
};

/// Reduces the number of boxes without changing their union. It joins boxes that differ in one
/// range where these overlap or adjoin, and drops boxes that lie within another box. The result
/// does not depend on the order of the boxes. Returns whether there are fewer.
bool merge_boxes(CountBoxes& boxes);

/// Returns the cost of merging them, in the units of Allowance::work.
[[nodiscard]] std::size_t merge_work(const CountBoxes& boxes);

}  // namespace weft::grammar
