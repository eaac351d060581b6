#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// The points of a grid as columns: number j of all points lies side by side, the order in which
/// a search through all points reads.
struct GridColumns {
  std::size_t points = 0;     ///< a multiple of 64
  std::size_t numbers = 0;    ///< numbers of a point: 4 or 8
  std::vector<float> values;  ///< [numbers][points]

  [[nodiscard]] const float* column(std::size_t j) const { return values.data() + j * points; }
};

/// A group of numbers that become one point. The squared distance to a point under a scale s is
/// s * s * squares - 2 * s * products, plus a term that does not depend on the point.
struct PointSums {
  float* products = nullptr;  ///< [points]: sum of weight * number * point's number
  float* squares = nullptr;   ///< [points]: sum of weight * the square of the point's number
};

/// Computes the sums for all points of a grid. `numbers` and `weights` have a point's length.
void sum_points(const GridColumns& grid, const float* numbers, const float* weights,
                const PointSums& to);

/// Returns the first point with the least s * squares - 2 * products: the nearest under the scale
/// s, which is positive. Both functions compute the same bits on every processor.
[[nodiscard]] std::size_t nearest_point(const GridColumns& grid, const PointSums& sums,
                                        float scale);

}  // namespace weft
