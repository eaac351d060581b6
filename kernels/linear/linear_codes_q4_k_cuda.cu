#include <cstdint>

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Blocks of q4_k, as the file has them.
///
/// Up to kExactTokens tokens the codes themselves are multiplied, and the sums of a group of 32
/// columns are exact but for the tokens' rounding to bf16:
///   sum w x = scale * sum (128 + q) x - (minimum + 128 * scale) * sum x,
/// with scale, minimum and all sums in float32; the sums of x come from a product with ones. For
/// more tokens scaling all these sums costs more than scaling the weights, which are then rounded
/// to bf16: scale * q - minimum, with scale and minimum in bf16.
struct Q4K {
  static constexpr int kColumns = 256;
  static constexpr int kRowBytes = 144;  // d, dmin, 12 bytes of scales, 128 of codes
  static constexpr bool kBoxed = false;
  static constexpr int kSharedBytes = 200 << 10;  // as kFlat takes
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums);
#endif
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kHeadBytes = 16;
constexpr int kGroup = 32;      // columns under one scale
constexpr int kHalfGroups = 4;  // of half a block
constexpr int kPairs = 2;       // two groups: the lower and upper halves of 32 bytes

struct GroupScale {
  float scale;
  float minimum;
};

/// Scales and minimums of a row's groups in one half of a block. Each has 6 bits; the upper two
/// bits of the second half's numbers stand in the first half's bytes.
__device__ inline void read_scales(const std::byte* block, int half,
                                   GroupScale (&to)[kHalfGroups]) {
  const uint4 head = *reinterpret_cast<const uint4*>(block);
  const float2 whole = __half22float2(reinterpret_cast<const __half2&>(head.x));
  const std::uint32_t scales =
      half == 0 ? head.y & 0x3f3f3f3fU : (head.w & 0x0f0f0f0fU) | (head.y >> 2U & 0x30303030U);
  const std::uint32_t minimums = half == 0
                                     ? head.z & 0x3f3f3f3fU
                                     : (head.w >> 4U & 0x0f0f0f0fU) | (head.z >> 2U & 0x30303030U);
#pragma unroll
  for (int i = 0; i < kHalfGroups; ++i) {
    to[i] = {whole.x * static_cast<float>(scales >> 8 * i & 0xffU),
             whole.y * static_cast<float>(minimums >> 8 * i & 0xffU)};
  }
}

/// A lane's operands from two groups: codes of the four rows quad, quad + 8, + 16 and + 24, and
/// their scales: x and y for the first group, z and w for the second.
template <class Sizes>
struct PairOfGroups {
  uint2 codes[4];
  float4 scale[4];

  __device__ PairOfGroups(const std::byte* weights, const std::byte* scales, const Lane& at,
                          int pair) {
    static_assert(kHalfGroups * sizeof(float2) == kScaleBytes);
    const std::byte* from = weights + at.row<Sizes>() * Q4K::kRowBytes + kHeadBytes +
                            (at.half * kPairs + pair) * kGroup + 8 * at.place;
    const std::byte* scale_from = scales + at.quad * kScaleBytes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      codes[i] = *reinterpret_cast<const uint2*>(from + 8 * i * Q4K::kRowBytes);
      scale[i] = reinterpret_cast<const float4*>(scale_from + 8 * i * kScaleBytes)[pair];
    }
  }

  /// Returns the codes of a group as operands of products of 16 rows and 16 columns.
  __device__ void operands(int upper, std::uint32_t (&to)[2][2][4]) const {
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      four_codes(codes[2 * m].x, upper, to[m][0][0], to[m][0][2]);
      four_codes(codes[2 * m + 1].x, upper, to[m][0][1], to[m][0][3]);
      four_codes(codes[2 * m].y, upper, to[m][1][0], to[m][1][2]);
      four_codes(codes[2 * m + 1].y, upper, to[m][1][1], to[m][1][3]);
    }
  }
};

/// Codes as they are.
template <class Sizes>
__device__ void add_codes(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                          const Lane& at, Sums<Sizes>& sums) {
  constexpr std::uint32_t kOnes[4] = {0x3f803f80U, 0x3f803f80U, 0x3f803f80U, 0x3f803f80U};
  GroupScale own[kHalfGroups];
  read_scales(weights + at.own_row<Sizes>() * Q4K::kRowBytes, at.half, own);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kHalfGroups; ++i) {
    reinterpret_cast<float2*>(scales)[at.own * kHalfGroups + i] =
        make_float2(own[i].scale, fmaf(-128.0F, own[i].scale, -own[i].minimum));
  }
  __syncwarp();
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    const PairOfGroups<Sizes> groups(weights, scales, at, pair);
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) {
      std::uint32_t a[2][2][4];
      groups.operands(upper, a);
      const int column = (at.half * kHalfGroups + 2 * pair + upper) * kGroup + 8 * at.place;
      const uint4 x =
          *reinterpret_cast<const uint4*>(inputs + at.quad * Sizes::kBoxBytes + column * 2);
      float totals[4] = {};
      multiply_add(totals, kOnes, x.x, x.y);
      multiply_add(totals, kOnes, x.z, x.w);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        float part[4] = {};
        multiply_add(part, a[m][0], x.x, x.y);
        multiply_add(part, a[m][1], x.z, x.w);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float4& of = groups.scale[2 * m + i / 2];
          sums[m][0][i] = fmaf(upper == 0 ? of.x : of.z, part[i],
                               fmaf(upper == 0 ? of.y : of.w, totals[i % 2], sums[m][0][i]));
        }
      }
    }
  }
}

/// scale * q + offset for two codes, each 128 + q.
__device__ inline std::uint32_t scaled(std::uint32_t codes, std::uint32_t scale,
                                       std::uint32_t offset) {
  return bits_of(__hfma2(two_of(minus(codes, 0x43004300U)), two_of(scale), two_of(offset)));
}

/// A lane's codes for more tokens, for which weights are rounded to bf16. A step has 16 bytes,
/// whose low halves are 16 columns and whose high halves 16 that are 32 further.
template <class Sizes>
struct RoundedCodes {
  __device__ RoundedCodes(const std::byte* weights, std::byte* shared, const Lane& at)
      : from(weights + at.row<Sizes>() * Q4K::kRowBytes + kHeadBytes + at.half * kPairs * kGroup),
        half(at.half),
        scales(reinterpret_cast<const uint4*>(shared + at.quad * kScaleBytes)) {
    GroupScale own[kHalfGroups];
    read_scales(weights + at.own_row<Sizes>() * Q4K::kRowBytes, at.half, own);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kHalfGroups; ++i) {
      reinterpret_cast<uint2*>(shared)[at.own * kHalfGroups + i] =
          make_uint2(twice(own[i].scale), twice(-own[i].minimum));
    }
    __syncwarp();
  }

  __device__ void operands(int step, std::uint32_t (&to)[2][2][4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t word =
          operand_bytes(from + step * 16 + row_step<Sizes>(i, Q4K::kRowBytes));
      const uint4 of = scales[8 * i * (kScaleBytes / sizeof(uint4)) + step / 2];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        std::uint32_t& first = to[i / 2][k][i % 2];
        std::uint32_t& second = to[i / 2][k][i % 2 + 2];
        four_codes(word, k, first, second);
        first = scaled(first, k == 0 ? of.x : of.z, k == 0 ? of.y : of.w);
        second = scaled(second, k == 0 ? of.x : of.z, k == 0 ? of.y : of.w);
      }
    }
  }

  [[nodiscard]] __device__ int column(int step, int k) const {
    return half * 128 + step / 2 * 64 + k * 32 + step % 2 * 16;
  }

  const std::byte* from;
  int half;
  const uint4* scales;
};

template <class Sizes>
__device__ void Q4K::add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                         const Lane& at, Sums<Sizes>& sums) {
  if constexpr (Sizes::kExact) {
    add_codes<Sizes>(weights, inputs, scales, at, sums);
  } else {
    const RoundedCodes<Sizes> codes(weights, scales, at);
    add_wide<Sizes>(codes, inputs, sums);
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace

CodesKind q4_k() { return kind_of<Q4K>(); }

}  // namespace weft::cuda::codes
