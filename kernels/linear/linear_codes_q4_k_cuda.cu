#include <cstdint>

#include "weft/kernels/linear/linear_codes_kernel_cuda.cuh"

namespace weft::cuda::codes {
namespace {

/// Blocks of q4_k, as in the file.
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
  static constexpr int kGateDistance = kBoxRows;
  static constexpr int place_of(int /*row*/, int piece) { return piece; }
  static constexpr int kSharedBytes = 200 << 10;  // as for kFlat
  static constexpr bool kSwapsTokens = false;
  static constexpr TokenForm kFewTokens = TokenForm::kNumbers;
  class Operands;
  template <class Sizes>
  static __device__ void add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                             const Lane& at, Sums<Sizes>& sums);
};

constexpr int kHeadBytes = 16;
constexpr int kGroup = 32;      // columns under one scale
constexpr int kHalfGroups = 4;  // groups of half a block
constexpr int kPairs = 2;       // two groups: the lower and upper halves of 32 bytes

struct GroupScale {
  float scale;
  float minimum;
};

/// Scales and minimums of a row's groups in one half of a block. Each has 6 bits. The upper two
/// bits of the second half's numbers are in the first half's bytes.
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

/// A lane's operands from two groups: codes of the four rows quad, quad + 8, quad + 16 and quad +
/// 24, and their scales. x and y are the first group's scale and offset, z and w the second's.
template <class Four>
struct PairOfGroups {
  uint2 codes[4];
  Four scale[4];

  __device__ PairOfGroups(const std::byte* weights, const std::byte* scales, const Lane& at,
                          int pair) {
    static_assert(kHalfGroups * sizeof(Four) / 2 == kScaleBytes);
    const std::byte* from = weights + (at.first_row + at.quad) * Q4K::kRowBytes + kHeadBytes +
                            (at.half * kPairs + pair) * kGroup + 8 * at.place;
    const std::byte* scale_from = scales + at.quad * kScaleBytes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      codes[i] = *reinterpret_cast<const uint2*>(from + 8 * i * Q4K::kRowBytes);
      scale[i] = reinterpret_cast<const Four*>(scale_from + 8 * i * kScaleBytes)[pair];
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

/// Returns the first of a lane's eight columns of a group.
__device__ inline int column_of(const Lane& at, int pair, int upper) {
  return (at.half * kHalfGroups + 2 * pair + upper) * kGroup + 8 * at.place;
}

/// Multiplies the codes themselves, not rounded.
template <class Sizes>
__device__ void add_codes(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                          const Lane& at, Sums<Sizes>& sums) {
  constexpr std::uint32_t kOnes[4] = {0x3f803f80U, 0x3f803f80U, 0x3f803f80U, 0x3f803f80U};
  GroupScale own[kHalfGroups];
  read_scales(weights + (at.first_row + at.own) * Q4K::kRowBytes, at.half, own);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kHalfGroups; ++i) {
    reinterpret_cast<float2*>(scales)[at.own * kHalfGroups + i] =
        make_float2(own[i].scale, fmaf(-128.0F, own[i].scale, -own[i].minimum));
  }
  __syncwarp();
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    const PairOfGroups<float4> groups(weights, scales, at, pair);
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) {
      std::uint32_t a[2][2][4];
      groups.operands(upper, a);
      const std::byte* from = inputs + at.input<Sizes>(column_of(at, pair, upper));
#pragma unroll
      for (int t = 0; t < Sizes::kTokens / 8; ++t) {
        const uint4 x = *reinterpret_cast<const uint4*>(from + t * 8 * Sizes::kBoxBytes);
        float totals[4] = {};
        multiply_add<__nv_bfloat16>(totals, kOnes, x.x, x.y);
        multiply_add<__nv_bfloat16>(totals, kOnes, x.z, x.w);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          float part[4] = {};
          multiply_add<__nv_bfloat16>(part, a[m][0], x.x, x.y);
          multiply_add<__nv_bfloat16>(part, a[m][1], x.z, x.w);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float4& of = groups.scale[2 * m + i / 2];
            sums[m][t][i] = fmaf(upper == 0 ? of.x : of.z, part[i],
                                 fmaf(upper == 0 ? of.y : of.w, totals[i % 2], sums[m][t][i]));
          }
        }
      }
    }
  }
}

/// Returns scale * q + offset for two codes, each stored as 128 + q.
__device__ inline std::uint32_t scaled(std::uint32_t codes, std::uint32_t scale,
                                       std::uint32_t offset) {
  return bits_of(__hfma2(two_of(minus(codes, 0x43004300U)), two_of(scale), two_of(offset)));
}

/// Each lane writes the scales and minimums of one row, in bf16; all lanes read them.
__device__ inline void share_rounded_scales(const std::byte* weights, std::byte* scales,
                                            const Lane& at) {
  GroupScale own[kHalfGroups];
  read_scales(weights + (at.first_row + at.own) * Q4K::kRowBytes, at.half, own);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kHalfGroups; ++i) {
    reinterpret_cast<uint2*>(scales)[at.own * kHalfGroups + i] =
        make_uint2(twice(own[i].scale), twice(-own[i].minimum));
  }
  __syncwarp();
}

/// As add_codes(), with weights rounded to bf16. Odd places take the second group of a pair first,
/// so that the lanes of two tokens read from different banks.
template <class Sizes>
__device__ void add_rounded(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                            const Lane& at, Sums<Sizes>& sums) {
  share_rounded_scales(weights, scales, at);
  const int odd = at.place % 2;
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    PairOfGroups<uint4> groups(weights, scales, at, pair);
#pragma unroll
    for (uint4& of : groups.scale) {
      if (odd != 0) of = make_uint4(of.z, of.w, of.x, of.y);
    }
#pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
      const int upper = turn ^ odd;
      std::uint32_t a[2][2][4];
      groups.operands(upper, a);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const uint4& of = groups.scale[2 * m + i % 2];
            a[m][k][i] = scaled(a[m][k][i], turn == 0 ? of.x : of.z, turn == 0 ? of.y : of.w);
          }
        }
      }
      const std::byte* from = inputs + at.input<Sizes>(column_of(at, pair, upper));
#pragma unroll
      for (int t = 0; t < Sizes::kTokens / 8; ++t) {
        const uint4 x = *reinterpret_cast<const uint4*>(from + t * 8 * Sizes::kBoxBytes);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          multiply_add<__nv_bfloat16>(sums[m][t], a[m][0], x.x, x.y);
          multiply_add<__nv_bfloat16>(sums[m][t], a[m][1], x.z, x.w);
        }
      }
    }
  }
}

template <class Sizes>
__device__ void Q4K::add(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                         const Lane& at, Sums<Sizes>& sums) {
  if constexpr (Sizes::kExact) {
    add_codes<Sizes>(weights, inputs, scales, at, sums);
  } else {
    add_rounded<Sizes>(weights, inputs, scales, at, sums);
  }
}

/// Operands for many tokens, with weights rounded as in add_rounded().
class Q4K::Operands {
 public:
  __device__ Operands(const std::byte* unit, std::byte* scales, const OperandLane& at)
      : codes_(unit + at.row() * kRowBytes + kHeadBytes + 2 * at.place),
        scales_(reinterpret_cast<const uint4*>(scales) + at.quad * kRowScales) {
    share_scales(unit, reinterpret_cast<uint4*>(scales), at);
  }

  /// A chunk has two groups: the lower and the upper halves of 32 bytes.
  __device__ void load(int chunk, ChunkOperands& to) const {
    std::uint32_t bytes[2][4];
#pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        bytes[piece][i] =
            two_bytes(codes_ + i % 2 * (8 * kRowBytes) + chunk * kGroup + piece * 16 + i / 2 * 8);
      }
    }
    // Scales of the lane's two rows: x and y for the first group, z and w for the second.
    uint4 scale[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) scale[row] = scales_[row * (8 * kRowScales) + chunk];
#pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t both = spread(bytes[piece][i]);
        const uint4& of = scale[i % 2];
        to[piece][i] = fma_of(times(both & 0x000f000fU, kBytesOver64), of.x, of.y);
        to[2 + piece][i] = fma_of(times(both & 0x00f000f0U, kUppersOver64), of.z, of.w);
      }
    }
  }

 private:
  static constexpr int kRowScales = 2 * kHalfGroups / 2;  // uint4, each for two groups
  static_assert(kOperandRows * kRowScales * sizeof(uint4) == kWarpScaleBytes);

  /// Each lane computes scales (times 64) and minimums of half of a row's groups, in bf16.
  static __device__ void share_scales(const std::byte* unit, uint4* scales, const OperandLane& at) {
    const int row = at.own % kOperandRows;
    const int half = at.own / kOperandRows;
    GroupScale own[kHalfGroups];
    read_scales(unit + (at.first_row + row) * kRowBytes, half, own);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kHalfGroups / 2; ++i) {
      const GroupScale& first = own[2 * i];
      const GroupScale& second = own[2 * i + 1];
      scales[row * kRowScales + half * (kHalfGroups / 2) + i] =
          make_uint4(twice(64.0F * first.scale), twice(-first.minimum), twice(64.0F * second.scale),
                     twice(-second.minimum));
    }
    __syncwarp();
  }

  const std::byte* codes_;
  const uint4* scales_;
};

}  // namespace

CodesKind q4_k() { return kind_of<Q4K>(); }

}  // namespace weft::cuda::codes
