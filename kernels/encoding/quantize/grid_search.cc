#include "weft/kernels/encoding/quantize/grid_search.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/encoding/quantize/grid_search.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void sum_on_target(const GridColumns& grid, const float* numbers, const float* weights,
                   const PointSums& to) {
  const hn::CappedTag<float, 64> d;
  for (std::size_t point = 0; point < grid.points; point += hn::Lanes(d)) {
    auto products = hn::Zero(d);
    auto squares = hn::Zero(d);
    for (std::size_t j = 0; j < grid.numbers; ++j) {
      const auto value = hn::LoadU(d, grid.column(j) + point);
      const auto weighted = hn::Mul(hn::Set(d, weights[j]), value);
      products = hn::Add(products, hn::Mul(weighted, hn::Set(d, numbers[j])));
      squares = hn::Add(squares, hn::Mul(weighted, value));
    }
    hn::StoreU(products, d, to.products + point);
    hn::StoreU(squares, d, to.squares + point);
  }
}

std::size_t nearest_on_target(const GridColumns& grid, const PointSums& sums, float scale) {
  const hn::CappedTag<float, 64> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const std::size_t lanes = hn::Lanes(d);
  auto least = hn::Set(d, std::numeric_limits<float>::infinity());
  auto found = hn::Zero(integers);
  auto index = hn::Iota(integers, 0);
  for (std::size_t point = 0; point < grid.points; point += lanes) {
    const auto square = hn::Mul(hn::Set(d, scale), hn::LoadU(d, sums.squares + point));
    const auto product = hn::LoadU(d, sums.products + point);
    const auto distance = hn::Sub(square, hn::Add(product, product));
    const auto is_nearer = hn::Lt(distance, least);
    least = hn::IfThenElse(is_nearer, distance, least);
    found = hn::IfThenElse(hn::RebindMask(integers, is_nearer), index, found);
    index = hn::Add(index, hn::Set(integers, static_cast<std::int32_t>(lanes)));
  }
  HWY_ALIGN float distances[64];
  HWY_ALIGN std::int32_t points[64];
  hn::StoreU(least, d, distances);
  hn::StoreU(found, integers, points);
  std::size_t best = 0;
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    const bool is_nearer = distances[lane] < distances[best] ||
                           (distances[lane] == distances[best] && points[lane] < points[best]);
    if (is_nearer) best = lane;
  }
  return static_cast<std::size_t>(points[best]);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(sum_on_target);
HWY_EXPORT(nearest_on_target);

void sum_points(const GridColumns& grid, const float* numbers, const float* weights,
                const PointSums& to) {
  HWY_DYNAMIC_DISPATCH(sum_on_target)(grid, numbers, weights, to);
}

std::size_t nearest_point(const GridColumns& grid, const PointSums& sums, float scale) {
  return HWY_DYNAMIC_DISPATCH(nearest_on_target)(grid, sums, scale);
}

}  // namespace weft
#endif  // HWY_ONCE
