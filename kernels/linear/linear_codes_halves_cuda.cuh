#pragma once

#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// Converts few tokens to f16, for encodings whose codes one instruction converts to f16.
///
/// A token's numbers in a unit are divided by a power of two such that the greatest is below 2^15.
/// Numbers that are at least 2^-31 times the greatest keep their value.
namespace weft::cuda::codes {

__device__ inline float lower_number(std::uint32_t two) { return __uint_as_float(two << 16U); }
__device__ inline float upper_number(std::uint32_t two) {
  return __uint_as_float(two & 0xffff0000U);
}

/// Returns the greatest magnitude of four numbers, as bits. These bits order as the magnitudes do.
__device__ inline std::uint32_t max_magnitude(std::uint32_t first, std::uint32_t second) {
  constexpr std::uint32_t kMagnitude = 0x7fff7fffU;
  const std::uint32_t both = __vmaxu2(first & kMagnitude, second & kMagnitude);
  return max(both >> 16U, both & 0xffffU);
}

/// Replaces each number by the greatest that 2 * kDistance neighbouring lanes have.
template <unsigned kDistance, int kCount>
__device__ void spread_greatest(std::uint32_t (&numbers)[kCount]) {
#pragma unroll
  for (unsigned distance = kDistance; distance > 0; distance /= 2) {
#pragma unroll
    for (std::uint32_t& number : numbers) {
      number = max(number, __shfl_xor_sync(0xffffffffU, number, distance));
    }
  }
}

/// The power of two by which a token's numbers are divided, so that all are below 2^15, from the
/// bits of the greatest magnitude. If a number is infinite or NaN, so are all results.
class TokenRange {
 public:
  __device__ explicit TokenRange(std::uint32_t greatest)
      : exponent_(static_cast<int>(greatest >> 7U)) {}

  [[nodiscard]] __device__ float inverse() const {
    return __int_as_float((2 * kBias + kBits - bounded()) << 23);
  }
  [[nodiscard]] __device__ float scale() const {
    constexpr int kNaN = 0x7fc00000;
    return __int_as_float(exponent_ == kNoNumber ? kNaN : (bounded() - kBits) << 23);
  }

 private:
  static constexpr int kBias = 127;      // bias of exponents
  static constexpr int kBits = 14;       // exponent of the greatest number after the division
  static constexpr int kNoNumber = 255;  // exponent of infinities and NaN

  /// The bound keeps both results normal numbers.
  [[nodiscard]] __device__ int bounded() const { return max(exponent_, kBits + 1); }

  int exponent_;
};

constexpr int kHalvesOfLane = 4;

/// A lane's four numbers of each of kCount tokens. Several tokens at once hide each other's
/// latency.
template <int kCount>
struct Halves {
  /// A whole warp calls it. `row` has the first token's numbers; tokens are `row_bytes` apart.
  __device__ Halves(const std::byte* row, int row_bytes) {
    uint2 raw[kCount];
    std::uint32_t greatest[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      raw[i] = reinterpret_cast<const uint2*>(row + i * row_bytes)[threadIdx.x % 32];
      greatest[i] = max_magnitude(raw[i].x, raw[i].y);
    }
    spread_greatest<16>(greatest);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const TokenRange range(greatest[i]);
      scales[i] = range.scale();
      made[i] = make_uint2(two(raw[i].x, range.inverse()), two(raw[i].y, range.inverse()));
    }
  }

  static __device__ std::uint32_t two(std::uint32_t numbers, float inverse) {
    const __half2 both =
        __floats2half2_rn(lower_number(numbers) * inverse, upper_number(numbers) * inverse);
    return reinterpret_cast<const std::uint32_t&>(both);
  }

  uint2 made[kCount];
  float scales[kCount];
};

}  // namespace weft::cuda::codes
