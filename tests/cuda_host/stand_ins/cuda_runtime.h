#pragma once

// Stands in for CUDA's header of this name, as far as the kernels use it.

#include <math.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/tests/cuda_host/machine.h"
#include "weft/tests/cuda_host/runtime.h"

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_FEAT_SM90_ALL 1

#define __device__
#define __host__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ [[gnu::section("weft.shared")]] static

// --- vectors

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

// --- where the thread is

inline constexpr const weft::cuda_host::Index& threadIdx = weft::cuda_host::place.thread;
inline constexpr const weft::cuda_host::Index& blockIdx = weft::cuda_host::place.block;
inline constexpr const weft::cuda_host::Index& blockDim = weft::cuda_host::place.block_size;
inline constexpr const weft::cuda_host::Index& gridDim = weft::cuda_host::place.grid_size;

// --- numbers

template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> min(A a, B b) {
  const auto x = static_cast<std::common_type_t<A, B>>(a);
  const auto y = static_cast<std::common_type_t<A, B>>(b);
  if constexpr (std::is_floating_point_v<std::common_type_t<A, B>>) return std::fmin(x, y);
  return y < x ? y : x;
}
template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> max(A a, B b) {
  const auto x = static_cast<std::common_type_t<A, B>>(a);
  const auto y = static_cast<std::common_type_t<A, B>>(b);
  if constexpr (std::is_floating_point_v<std::common_type_t<A, B>>) return std::fmax(x, y);
  return x < y ? y : x;
}

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float number) { return std::bit_cast<unsigned>(number); }
inline int __float_as_int(float number) { return std::bit_cast<int>(number); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline float normcdff(float x) { return 0.5F * std::erfc(x * -0.70710678118654752440F); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}

namespace weft::cuda_host {

/// Conversions to integers, of numbers to nearest even, as the hardware has them: what is beyond
/// the type becomes its end, NaN zero.
template <class Integer, class Number>
Integer to_integer(Number number) {
  if (std::isnan(number)) return 0;
  const Number whole = std::nearbyint(number);
  using Limits = std::numeric_limits<Integer>;
  if (whole <= static_cast<Number>(Limits::min())) return Limits::min();
  if (whole >= static_cast<Number>(Limits::max())) return Limits::max();
  return static_cast<Integer>(whole);
}

}  // namespace weft::cuda_host

inline unsigned long long __float2ull_rn(float number) {
  return ::weft::cuda_host::to_integer<unsigned long long>(number);
}
inline unsigned long long __double2ull_rn(double number) {
  return ::weft::cuda_host::to_integer<unsigned long long>(number);
}
inline int __float2int_rn(float number) { return ::weft::cuda_host::to_integer<int>(number); }
inline float __double2float_ru(double number) {
  const auto near = static_cast<float>(number);
  return static_cast<double>(near) < number
             ? std::nextafter(near, std::numeric_limits<float>::infinity())
             : near;
}

/// Byte i of the result is that of `low` and, from 4 on, `high` which digit i of `selector` names;
/// from 8 on its sign alone.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t all = std::uint64_t{high} << 32U | low;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned digit = selector >> 4 * i & 15U;
    unsigned byte = static_cast<unsigned>(all >> 8 * (digit & 7U)) & 0xffU;
    if (digit >= 8) byte = (byte & 0x80U) != 0 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
  return std::max(a & 0xffff0000U, b & 0xffff0000U) | std::max(a & 0xffffU, b & 0xffffU);
}

// --- memory

template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
void __stcg(T* to, T value) {
  *to = value;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// One thread runs at a time, and until it waits.
template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  ::weft::cuda_host::note_change();
  return std::exchange(*at, static_cast<T>(*at + value));
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  ::weft::cuda_host::note_change();
  return std::exchange(*at, *at | value);
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  ::weft::cuda_host::note_change();
  return std::exchange(*at, std::max(*at, value));
}
inline unsigned atomicInc(unsigned* at, unsigned last) {
  ::weft::cuda_host::note_change();
  return std::exchange(*at, *at >= last ? 0 : *at + 1);
}

// --- threads that meet

inline void __syncthreads() { ::weft::cuda_host::meet_block(); }

namespace weft::cuda_host {

template <class T>
T exchange(const char* what, unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange_bits(what, mask, bits, from);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace weft::cuda_host

inline unsigned __ballot_sync(unsigned mask, bool is) {
  using ::weft::cuda_host::Fold;
  return ::weft::cuda_host::fold("__ballot_sync", mask, is ? 1U : 0U, Fold::kBallot);
}
inline bool __any_sync(unsigned mask, bool is) { return __ballot_sync(mask, is) != 0; }
inline bool __all_sync(unsigned mask, bool is) { return __ballot_sync(mask, !is) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  ::weft::cuda_host::meet_lanes("__syncwarp", mask, nullptr,
                                [](void* const(&)[32], std::uint32_t) {});
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  using ::weft::cuda_host::Fold;
  return ::weft::cuda_host::fold("__reduce_add_sync", mask, value, Fold::kSum);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  using ::weft::cuda_host::Fold;
  return ::weft::cuda_host::fold("__reduce_max_sync", mask, value, Fold::kMost);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  return ::weft::cuda_host::exchange("__shfl_sync", mask, value, static_cast<unsigned>(lane) % 32U);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, unsigned bits) {
  const unsigned own = ::weft::cuda_host::thread_number() % 32U;
  return ::weft::cuda_host::exchange("__shfl_xor_sync", mask, value, own ^ (bits & 31U));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance) {
  const unsigned own = ::weft::cuda_host::thread_number() % 32U;
  return ::weft::cuda_host::exchange("__shfl_up_sync", mask, value,
                                     own < distance ? own : own - distance);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
  const unsigned own = ::weft::cuda_host::thread_number() % 32U;
  return ::weft::cuda_host::exchange("__shfl_down_sync", mask, value,
                                     own + distance > 31U ? own : own + distance);
}

// NOLINTEND(readability-identifier-naming)
