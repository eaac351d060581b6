#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "weft/kernels/gradients/gradient_cpu.h"
#include "weft/kernels/gradients/softmax_row.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/gradients/softmax_row_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/simd_row-inl.h"
#include "weft/kernels/simd/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

float softmax_of(float* row, std::size_t count) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  float greatest = kLowest;
  for (std::size_t i = 0; i < count; ++i) greatest = std::max(greatest, row[i]);
  if (greatest == kLowest) {
    std::fill_n(row, count, 0.0F);
    return kLowest;
  }
  FloatVec sums = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t left = count - i;
    FloatVec power = exp_of(d, hn::Sub(load_first(row + i, left), hn::Set(d, greatest)));
    if (left < lanes) power = hn::IfThenElseZero(hn::FirstN(d, left), power);
    sums = hn::Add(sums, power);
    store_first(power, row + i, left);
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  const FloatVec factor = hn::Set(d, 1.0F / sum);
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t left = count - i;
    store_first(hn::Mul(load_first(row + i, left), factor), row + i, left);
  }
  return greatest + std::log(sum);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(softmax_of);

float cpu::softmax_row(float* row, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(softmax_of)(row, count);
}

float softmax_row(std::span<float> row) { return cpu::softmax_row(row.data(), row.size()); }

}  // namespace weft
#endif  // HWY_ONCE
