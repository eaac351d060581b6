#include "weft/grammar/engine/count_boxes.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "weft/grammar/grammar.h"

namespace weft::grammar {
namespace {

/// The longest list whose boxes are compared pair by pair, because the cost grows with the square.
constexpr std::size_t kMostCompared = 128;

bool meets(const CountRange& low, const CountRange& high) {
  return low.most == kNoBound || high.least <= low.most + 1;
}

/// Compares two boxes by all ranges except `along`, then by that range.
std::strong_ordering compare(const CountRange* a, const CountRange* b, std::size_t dimensions,
                             std::size_t last) {
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (i == last) continue;
    if (const auto order = a[i] <=> b[i]; order != 0) return order;
  }
  return a[last] <=> b[last];
}

/// Merges boxes that differ only in their range `along`; returns whether there were any.
bool merge_along(CountBoxes& boxes, std::size_t along) {
  const std::size_t dimensions = boxes.dimensions;
  std::vector<std::uint32_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return compare(boxes.box(a), boxes.box(b), dimensions, along) < 0;
  });
  std::vector<CountRange> merged;
  merged.reserve(boxes.ranges.size());
  for (const std::uint32_t index : order) {
    const CountRange* const box = boxes.box(index);
    if (!merged.empty()) {
      CountRange* const before = merged.data() + merged.size() - dimensions;
      bool same = meets(before[along], box[along]);
      for (std::size_t i = 0; i < dimensions && same; ++i) {
        same = i == along || before[i] == box[i];
      }
      if (same) {
        before[along].most = std::max(before[along].most, box[along].most);
        continue;
      }
    }
    merged.insert(merged.end(), box, box + dimensions);
  }
  const bool fewer = merged.size() < boxes.ranges.size();
  boxes.ranges = std::move(merged);
  return fewer;
}

bool lies_within(const CountRange* inner, const CountRange* outer, std::size_t dimensions) {
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (inner[i].least < outer[i].least || inner[i].most > outer[i].most) return false;
  }
  return true;
}

/// Drops boxes that lie within another box; no two boxes are equal.
bool drop_covered(CountBoxes& boxes) {
  const std::size_t count = boxes.size();
  if (count > kMostCompared) return false;
  std::vector<CountRange> kept;
  kept.reserve(boxes.ranges.size());
  for (std::size_t i = 0; i < count; ++i) {
    bool covered = false;
    for (std::size_t j = 0; j < count && !covered; ++j) {
      covered = j != i && lies_within(boxes.box(i), boxes.box(j), boxes.dimensions);
    }
    if (!covered) kept.insert(kept.end(), boxes.box(i), boxes.box(i) + boxes.dimensions);
  }
  const bool fewer = kept.size() < boxes.ranges.size();
  boxes.ranges = std::move(kept);
  return fewer;
}

}  // namespace

std::size_t merge_work(const CountBoxes& boxes) {
  const std::size_t count = boxes.size();
  const auto sorted = count * static_cast<std::size_t>(std::bit_width(count)) * boxes.dimensions;
  const std::size_t compared = std::min(count, kMostCompared);
  return sorted / 2 + (boxes.dimensions > 1 ? compared * compared / 8 : 0);
}

bool merge_boxes(CountBoxes& boxes) {
  bool fewer = false;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t along = 0; along < boxes.dimensions; ++along) {
      goes_on = merge_along(boxes, along) || goes_on;
    }
    fewer = fewer || goes_on;
  }
  // With one dimension, disjoint ranges cannot cover each other.
  return (boxes.dimensions > 1 && drop_covered(boxes)) || fewer;
}

}  // namespace weft::grammar
