#include "weft/measure/report/charts/thin_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <unordered_set>

namespace weft::measure {
namespace {

using At = Points::const_iterator;

constexpr std::size_t kKeptOfRun = 4;
constexpr std::size_t kMostPerColumn = 16;

bool is_lower(const Points::value_type& one, const Points::value_type& other) {
  return one.second < other.second;
}

/// Keeps the first, the lowest, the highest and the last of [first, end), in their order and each
/// once.
void keep_run(At first, At end, Points& kept) {
  std::array<At, kKeptOfRun> run = {first, std::min_element(first, end, is_lower),
                                    std::max_element(first, end, is_lower), std::prev(end)};
  std::ranges::sort(run);
  const auto rest = std::ranges::unique(run);
  for (auto one = run.begin(); one != rest.begin(); ++one) kept.push_back(**one);
}

/// Divides the points into runs, which end where `key` of a point's number changes.
template <class Key>
Points keep_runs(const Points& points, Key key) {
  Points kept;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i + 1;
    while (end < points.size() && key(end) == key(i)) ++end;
    const auto at = [&points](std::size_t n) {
      return points.begin() + static_cast<std::ptrdiff_t>(n);
    };
    keep_run(at(i), at(end), kept);
    i = end;
  }
  return kept;
}

double part(double value, double low, double high) {
  return high > low ? (value - low) / (high - low) : 0;
}

}  // namespace

Points thin_line(const Points& points, double low, double high, std::size_t columns) {
  const std::size_t most = kMostPerColumn * columns;
  if (points.size() <= kKeptOfRun * columns) return points;
  Points kept = keep_runs(points, [&](std::size_t i) {
    return std::floor(part(points[i].first, low, high) * static_cast<double>(columns));
  });
  if (kept.size() <= most) return kept;
  // The line runs back and forth, so it is divided by the points' numbers instead.
  const std::size_t runs = most / kKeptOfRun;
  return keep_runs(kept, [&](std::size_t i) { return i * runs / kept.size(); });
}

Points thin_cloud(const Points& points, std::size_t most) {
  if (points.size() <= most) return points;
  const auto [left, right] = std::ranges::minmax_element(points);
  const auto [bottom, top] = std::ranges::minmax_element(points, is_lower);
  Points kept = {*left, *right, *bottom, *top};
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(most)));
  const auto cell = [side](double of) {
    return std::min(side - 1, static_cast<std::size_t>(of * static_cast<double>(side)));
  };
  std::unordered_set<std::size_t> taken;
  for (const auto& point : points) {
    const std::size_t column = cell(part(point.first, left->first, right->first));
    const std::size_t row = cell(part(point.second, bottom->second, top->second));
    if (taken.insert(row * side + column).second) kept.push_back(point);
  }
  return kept;
}

}  // namespace weft::measure
