#pragma once

namespace weft::cuda {

/// A number and an index, packed into an integer that orders as the number does. Among equal
/// numbers the lower index has the greater key. No number and index have the key 0 or ~0.
using Key = unsigned long long;

/// Returns bits that order as the numbers do. -0 counts as 0, as in comparisons.
__device__ inline unsigned ordered_bits(float number) {
  const unsigned bits = __float_as_uint(number + 0.0F);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

__device__ inline Key key_of(float number, int index) {
  return Key{ordered_bits(number)} << 32U | static_cast<unsigned>(~index);
}
__device__ inline int index_of(Key key) { return static_cast<int>(~static_cast<unsigned>(key)); }
__device__ inline float number_of(Key key) {
  const auto ordered = static_cast<unsigned>(key >> 32U);
  return __uint_as_float((ordered & 0x80000000U) != 0 ? ordered & 0x7fffffffU : ~ordered);
}

__device__ inline Key warp_max(Key key) {
  constexpr unsigned kAll = 0xffffffffU;
  const auto own = static_cast<unsigned>(key >> 32U);
  const unsigned high = __reduce_max_sync(kAll, own);
  return Key{high} << 32U | __reduce_max_sync(kAll, high == own ? static_cast<unsigned>(key) : 0U);
}

}  // namespace weft::cuda
