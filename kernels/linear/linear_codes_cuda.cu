#include <algorithm>
#include <cstdint>

#include "weft/kernels/cuda/hopper_cuda.cuh"
#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_cut_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// Products with a few tokens whose weights stay codes: blocks of q4_k stream through shared memory
/// as the file has them, and tensor cores multiply the codes. A code q becomes the bf16 number
/// 128 + q, whose lowest bits it is, at less than one operation a weight.
///
/// Up to kExactTokens tokens the codes themselves are multiplied, and the sums of a group of 32
/// columns are exact but for the tokens' rounding to bf16:
///   sum w x = scale * sum (128 + q) x - (minimum + 128 * scale) * sum x,
/// with scale, minimum and all sums in float32; the sums of x come from a product with ones. For
/// more tokens scaling all these sums costs more than scaling the weights, which are then rounded
/// to bf16: scale * q - minimum, with scale and minimum in bf16.
///
/// A warp multiplies 32 rows by one half of a unit's columns. Units are cut among the
/// multiprocessors by linear_cut_cuda.cuh.
namespace weft::cuda {
namespace {

constexpr int kExactTokens = 8;
constexpr int kGroup = 32;         // columns under one scale
constexpr int kUnitColumns = 256;  // columns of a block of q4_k
constexpr int kBlockBytes = 144;   // a block of q4_k: d, dmin, 12 bytes of scales, 128 of codes
constexpr int kHeadBytes = 16;
constexpr int kTileRows = 128;
constexpr int kBoxRows = kTileRows / 2;  // gates and ups come from different rows
constexpr int kWarpRows = 32;
constexpr int kRowWarps = kTileRows / kWarpRows;
constexpr int kHalves = 2;  // halves of a unit's columns
constexpr int kHalfGroups = kUnitColumns / kGroup / kHalves;
constexpr int kPairs = kHalfGroups / 2;  // two groups: the lower and upper halves of 32 bytes
constexpr int kHalfThreads = kRowWarps * 32;
constexpr int kProducer = kHalves * kHalfThreads;  // first thread of the warp that loads
constexpr int kThreads = kProducer + 32;

constexpr int kSwizzleBytes = 1024;      // alignment of swizzled boxes
constexpr int kSharedBytes = 200 << 10;  // shared memory of a multiprocessor, as kFlat takes

/// Named barriers of all threads that multiply; put_together() has barrier 1.
constexpr int kFreeBarrier = 2;
constexpr int kStagedBarrier = 3;

template <int kTokens>
struct Layout {
  /// Blocks on a multiprocessor. Two blocks hide each other's waits, and the next product's blocks
  /// fill their rings while this product ends. The registers of many tokens leave room for one.
  static constexpr int kBlocks = kTokens <= 16 ? 2 : 1;
  static constexpr bool kExact = kTokens <= kExactTokens;
  /// Columns of a box of the tokens. A copy with fewer rows is faster; where it is read often,
  /// 128 bytes with the widest swizzle avoid bank conflicts.
  static constexpr int kBoxColumns = kExact ? kUnitColumns : 64;
  static constexpr int kBoxBytes = kBoxColumns * 2;  // bytes of a token
  static constexpr int kWeightBytes = kTileRows * kBlockBytes;
  static constexpr int kInputBytes = kTokens * kUnitColumns * 2;
  static constexpr int kStageBytes = kWeightBytes + kInputBytes;
  static constexpr int kStagedStride = kTileRows + 4;  // no two lanes write to one bank
  static constexpr int kStagedBytes = kTokens * kStagedStride * 4;
  static constexpr int kScaleBytes = kHalves * kTileRows * kHalfGroups * 8;
  static constexpr int kRest = kSwizzleBytes + kStagedBytes + kScaleBytes + 512;  // with barriers
  static constexpr int kDepth = (kSharedBytes / kBlocks - kRest) / kStageBytes;
  static constexpr int kBytes = kDepth * kStageBytes + kRest;
  static_assert(kDepth >= 3);
};

struct CodesProduct {
  Cut cut;
  int tokens;
  int outputs;
  bool gated;
  CutSums meeting;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <int kTokens>
struct Shared {
  using Sizes = Layout<kTokens>;
  __device__ explicit Shared(std::byte* memory)
      : stages(memory + (kSwizzleBytes - shared_address(memory) % kSwizzleBytes) % kSwizzleBytes),
        staged(reinterpret_cast<float*>(stages + Sizes::kDepth * Sizes::kStageBytes)),
        scales(
            reinterpret_cast<float2*>(reinterpret_cast<std::byte*>(staged) + Sizes::kStagedBytes)),
        full(reinterpret_cast<Barrier*>(reinterpret_cast<std::byte*>(scales) + Sizes::kScaleBytes)),
        empty(full + Sizes::kDepth) {}

  __device__ std::byte* weights(unsigned slot) const { return stages + slot * Sizes::kStageBytes; }
  __device__ std::byte* inputs(unsigned slot) const { return weights(slot) + Sizes::kWeightBytes; }

  std::byte* stages;
  float* staged;   ///< [kTokens, kStagedStride]
  float2* scales;  ///< by warp, [kWarpRows, kHalfGroups]: the scales of its products
  Barrier* full;   ///< by slot: the unit is loaded
  Barrier* empty;  ///< by slot: all warps have read the unit
};

/// Fills the ring. Weights are constant, so loading the first stages' weights begins before the
/// predecessor's end.
template <int kTokens>
__device__ void produce(const Shared<kTokens>& shared, const CodesProduct& product,
                        const CUtensorMap* weights, const CUtensorMap* inputs) {
  using Sizes = Layout<kTokens>;
  const Cut& cut = product.cut;
  const unsigned first = first_of(cut, blockIdx.x);
  const unsigned count = first_of(cut, blockIdx.x + 1) - first;
  const unsigned ahead = min(count, static_cast<unsigned>(Sizes::kDepth));
  unsigned tile = first / cut.tile_units;
  unsigned column = first % cut.tile_units;
  const auto load_weights = [&](unsigned slot) {
    arrive_expecting(&shared.full[slot], Sizes::kStageBytes);
    const int row = static_cast<int>(tile) * (product.gated ? kBoxRows : kTileRows);
    const int next = product.gated ? row + product.outputs : row + kBoxRows;
    const int at = static_cast<int>(column) * kBlockBytes;
    std::byte* to = shared.weights(slot);
    copy_box(to, weights, at, row, &shared.full[slot], CacheHint::kEvictFirst);
    copy_box(to + Sizes::kWeightBytes / 2, weights, at, next, &shared.full[slot],
             CacheHint::kEvictFirst);
  };
  const auto load_inputs = [&](unsigned slot, unsigned at) {
#pragma unroll
    for (int box = 0; box < kUnitColumns / Sizes::kBoxColumns; ++box) {
      copy_box(shared.inputs(slot) + box * (kTokens * Sizes::kBoxBytes), inputs,
               static_cast<int>(at) * kUnitColumns + box * Sizes::kBoxColumns, 0,
               &shared.full[slot], CacheHint::kEvictLast);
    }
  };
  const auto advance = [&] {
    if (++column == cut.tile_units) {
      column = 0;
      ++tile;
    }
  };

  unsigned input_column = column;
  for (unsigned i = 0; i < ahead; ++i) {
    load_weights(i);
    advance();
  }
  wait_for_predecessor();
  for (unsigned i = 0; i < ahead; ++i) {
    load_inputs(i, input_column);
    if (++input_column == cut.tile_units) input_column = 0;
  }
  unsigned slot = 0;
  unsigned parity = 0;
  for (unsigned i = ahead; i < count; ++i) {
    wait(&shared.empty[slot], parity);
    load_weights(slot);
    load_inputs(slot, column);
    advance();
    if (++slot == Sizes::kDepth) {
      slot = 0;
      parity ^= 1U;
    }
  }
}

/// sums [16, 8] += A [16, 16] B [8, 16]^T of bf16. Lane l holds rows l / 4 and l / 4 + 8 of A.
__device__ inline void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Converts four bytes' codes to 128 + code in bf16, in their order.
__device__ inline void four_codes(std::uint32_t word, int upper, std::uint32_t& first,
                                  std::uint32_t& second) {
  const std::uint32_t codes = word >> 4 * upper & 0x0f0f0f0fU;
  first = __byte_perm(codes, 0x43434343U, 0x4140);
  second = __byte_perm(codes, 0x43434343U, 0x4342);
}

struct GroupScale {
  float scale;
  float minimum;
};

/// Scales and minimums of a row's groups in one half of a block of q4_k. Each has 6 bits;
/// the upper two bits of the second half's numbers stand in the first half's bytes.
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

/// Offsets at which a lane reads: in a slot of the ring, in bytes, and in its warp's scales.
struct LanePlaces {
  __device__ LanePlaces(int half, int first_row)
      : half(half), quad(threadIdx.x % 32 / 4), place(threadIdx.x % 4) {
    const int lane = threadIdx.x % 32;
    head = (first_row + lane) * kBlockBytes;
    codes = (first_row + quad) * kBlockBytes + kHeadBytes + half * kPairs * kGroup + 8 * place;
    own_scales = lane * kHalfGroups;
    scales = quad * kHalfGroups;
  }

  /// Eight columns of token `quad` in a group of a pair; `upper` is the pair's second.
  template <int kTokens>
  __device__ int input(int pair, int upper) const {
    using Sizes = Layout<kTokens>;
    if constexpr (Sizes::kExact) {
      const int group = half * kHalfGroups + 2 * pair + upper;
      return quad * Sizes::kBoxBytes + (group * kGroup + 8 * place) * 2;
    }
    return (half * kPairs + pair) * (kTokens * Sizes::kBoxBytes) + quad * Sizes::kBoxBytes +
           ((4 * upper + place) ^ quad) * 16;
  }

  int half;
  int quad;        ///< number of the lane's quad: it has rows quad, quad + 8, ... and tokens alike
  int place;       ///< the lane's place in its quad: which eight columns of a group
  int head;        ///< the block of the lane's own row, whose scales it reads
  int codes;       ///< offset of row `quad`'s codes: two words of the first pair
  int own_scales;  ///< offset of the scales of the lane's own row
  int scales;      ///< offset of the scales of row `quad`
};

/// A lane's operands from two groups: codes of the four rows quad, quad + 8, + 16 and + 24, and
/// their scales: x and y for the first group, z and w for the second.
template <class Four>
struct PairOfGroups {
  uint2 codes[4];
  Four scale[4];

  __device__ PairOfGroups(const std::byte* weights, const void* scales, const LanePlaces& at,
                          int pair) {
    static_assert(sizeof(Four) == 2 * sizeof(float2));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      codes[i] =
          *reinterpret_cast<const uint2*>(weights + at.codes + 8 * i * kBlockBytes + pair * kGroup);
      scale[i] = *reinterpret_cast<const Four*>(static_cast<const float2*>(scales) + at.scales +
                                                8 * i * kHalfGroups + 2 * pair);
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

template <int kTokens>
using Sums = float[2][kTokens / 8][4];  ///< by 16 rows and 8 tokens

/// Adds a unit's products of a warp's 32 rows and its half of the columns, codes as they are.
template <int kTokens>
__device__ void add_codes(const std::byte* weights, const std::byte* inputs, float2* scales,
                          const LanePlaces& at, Sums<kTokens>& sums) {
  constexpr std::uint32_t kOnes[4] = {0x3f803f80U, 0x3f803f80U, 0x3f803f80U, 0x3f803f80U};
  GroupScale own[kHalfGroups];
  read_scales(weights + at.head, at.half, own);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kHalfGroups; ++i) {
    scales[at.own_scales + i] =
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
      const std::byte* from = inputs + at.input<kTokens>(pair, upper);
#pragma unroll
      for (int t = 0; t < kTokens / 8; ++t) {
        const uint4 x = *reinterpret_cast<const uint4*>(from + t * 8 * Layout<kTokens>::kBoxBytes);
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
            sums[m][t][i] = fmaf(upper == 0 ? of.x : of.z, part[i],
                                 fmaf(upper == 0 ? of.y : of.w, totals[i % 2], sums[m][t][i]));
          }
        }
      }
    }
  }
}

/// Twice a number in bf16.
__device__ inline std::uint32_t twice(float number) {
  const __nv_bfloat162 two = __float2bfloat162_rn(number);
  return reinterpret_cast<const std::uint32_t&>(two);
}

/// scale * q + offset for two codes, each 128 + q.
__device__ inline std::uint32_t scaled(std::uint32_t codes, std::uint32_t scale,
                                       std::uint32_t offset) {
  constexpr std::uint32_t k128 = 0x43004300U;
  const __nv_bfloat162 exact = __hsub2(reinterpret_cast<const __nv_bfloat162&>(codes),
                                       reinterpret_cast<const __nv_bfloat162&>(k128));
  const __nv_bfloat162 weights = __hfma2(exact, reinterpret_cast<const __nv_bfloat162&>(scale),
                                         reinterpret_cast<const __nv_bfloat162&>(offset));
  return reinterpret_cast<const std::uint32_t&>(weights);
}

/// As add_codes(), with weights rounded to bf16. Odd places take the second group of a pair first,
/// so that the lanes of two tokens read from different banks.
template <int kTokens>
__device__ void add_rounded(const std::byte* weights, const std::byte* inputs, float2* scales,
                            const LanePlaces& at, Sums<kTokens>& sums) {
  GroupScale own[kHalfGroups];
  read_scales(weights + at.head, at.half, own);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kHalfGroups; ++i) {
    reinterpret_cast<uint2*>(scales)[at.own_scales + i] =
        make_uint2(twice(own[i].scale), twice(-own[i].minimum));
  }
  __syncwarp();
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
      const std::byte* from = inputs + at.input<kTokens>(pair, upper);
#pragma unroll
      for (int t = 0; t < kTokens / 8; ++t) {
        const uint4 x = *reinterpret_cast<const uint4*>(from + t * 8 * Layout<kTokens>::kBoxBytes);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          multiply_add(sums[m][t], a[m][0], x.x, x.y);
          multiply_add(sums[m][t], a[m][1], x.z, x.w);
        }
      }
    }
  }
}

/// A warp's position in the ring.
struct Position {
  unsigned slot = 0;
  unsigned parity = 0;
};

/// Calls what(sum, token, row) for each of a lane's sums, rows in the warp.
template <int kTokens, class What>
__device__ void each_sum(Sums<kTokens>& sums, What what) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int t = 0; t < kTokens / 8; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        what(sums[m][t][i], t * 8 + lane % 4 * 2 + i % 2, m * 16 + i / 2 * 8 + lane / 4);
      }
    }
  }
}

template <int kTokens>
__device__ void consume(const Shared<kTokens>& shared, const CodesProduct& product,
                        const LinearEpilogue& epilogue) {
  using Sizes = Layout<kTokens>;
  const Cut& cut = product.cut;
  const int half = threadIdx.x / kHalfThreads;
  const int first_row = threadIdx.x / 32 % kRowWarps * kWarpRows;
  const LanePlaces at(half, first_row);
  float2* scales = shared.scales + (threadIdx.x / 32) * (kWarpRows * kHalfGroups);
  const auto place_of = [&](int token, int row) {
    return shared.staged + token * Sizes::kStagedStride + first_row + row;
  };
  const unsigned end = first_of(cut, blockIdx.x + 1);
  Position position;
  wait_for_predecessor();
  for (unsigned unit = first_of(cut, blockIdx.x); unit < end;) {
    const unsigned tile = unit / cut.tile_units;
    const unsigned tile_end = (tile + 1) * cut.tile_units;
    const unsigned part_end = min(end, tile_end);
    const bool whole = unit == tile_end - cut.tile_units && part_end == tile_end;
    Sums<kTokens> sums = {};
    for (; unit < part_end; ++unit) {
      wait(&shared.full[position.slot], position.parity);
      const std::byte* weights = shared.weights(position.slot);
      const std::byte* inputs = shared.inputs(position.slot);
      if constexpr (Sizes::kExact) {
        add_codes<kTokens>(weights, inputs, scales, at, sums);
      } else {
        add_rounded<kTokens>(weights, inputs, scales, at, sums);
      }
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(&shared.empty[position.slot]);
      if (++position.slot == Sizes::kDepth) {
        position.slot = 0;
        position.parity ^= 1U;
      }
    }
    // The second half hands its sums to the first, once the first is done with earlier sums.
    meet(kFreeBarrier, kProducer);
    if (half == 1) {
      each_sum<kTokens>(sums, [&](float sum, int token, int row) { *place_of(token, row) = sum; });
    }
    meet(kStagedBarrier, kProducer);
    if (half == 1) continue;
    each_sum<kTokens>(sums, [&](float& sum, int token, int row) { sum += *place_of(token, row); });
    auto& flat = reinterpret_cast<float(&)[kTokens]>(sums);
    if (!whole &&
        !put_together<1, kHalfThreads>(cut, product.meeting, tile, 0, threadIdx.x, flat)) {
      continue;
    }
    each_sum<kTokens>(sums, [&](float sum, int token, int row) { *place_of(token, row) = sum; });
    meet(1, kHalfThreads);
    const StagedSums<kTileRows, Sizes::kStagedStride> staged{shared.staged, product.gated,
                                                             kBoxRows};
    staged.template write<kHalfThreads>(epilogue, threadIdx.x, 0, product.tokens, tile,
                                        [](int column) { return column; });
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <int kTokens>
__global__ void __launch_bounds__(kThreads, Layout<kTokens>::kBlocks)
    codes_kernel(const __grid_constant__ CUtensorMap weights,
                 const __grid_constant__ CUtensorMap inputs, const CodesProduct product,
                 const LinearEpilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Sizes = Layout<kTokens>;
  extern __shared__ std::byte memory[];
  const Shared<kTokens> shared(memory);
  if (threadIdx.x == kProducer) {
    prefetch_map(&weights);
    prefetch_map(&inputs);
    for (int slot = 0; slot < Sizes::kDepth; ++slot) {
      init_barrier(&shared.full[slot], 1);
      init_barrier(&shared.empty[slot], kHalves * kRowWarps);
    }
    publish_barriers();
  }
  __syncthreads();
  let_successor_start();
  if (threadIdx.x >= kProducer) {
    if (threadIdx.x == kProducer) produce<kTokens>(shared, product, &weights, &inputs);
  } else {
    consume<kTokens>(shared, product, epilogue);
  }
#endif
}

std::int64_t row_bytes(const DeviceMatrix& weight) {
  return weight.inputs / kUnitColumns * kBlockBytes;
}

/// The rows of a matrix of blocks, as bytes.
Status encode_weights(TensorMapEncoder encoder, CUtensorMap& map, const DeviceMatrix& weight) {
  const std::int64_t rows = weight.gated ? 2 * weight.outputs : weight.outputs;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(row_bytes(weight)),
                              static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {sizes[0]};
  const cuuint32_t box[] = {kBlockBytes, kBoxRows};
  const cuuint32_t steps[] = {1, 1};
  const CUresult result =
      encoder(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<std::byte*>(weight.runs[0].data),
              sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
              CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? Status::kSuccess : status_of(cudaErrorInvalidValue);
}

Status encode_inputs(TensorMapEncoder encoder, CUtensorMap& map, const CudaLinearParams& params,
                     int tokens, int columns, CUtensorMapSwizzle swizzle) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(params.weight.inputs),
                              static_cast<cuuint64_t>(params.rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(params.in.stride) * 2};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(columns), static_cast<cuuint32_t>(tokens)};
  const cuuint32_t steps[] = {1, 1};
  const CUresult result =
      encoder(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, params.in.data, sizes, strides, box, steps,
              CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? Status::kSuccess : status_of(cudaErrorInvalidValue);
}

std::int64_t tiles_of(const DeviceMatrix& weight) {
  const std::int64_t outputs = weight.gated ? kBoxRows : kTileRows;
  return (weight.outputs + outputs - 1) / outputs;
}

Cut cut_of(const DeviceMatrix& weight) {
  const std::int64_t columns = weight.inputs / kUnitColumns;
  return {.units = static_cast<unsigned>(tiles_of(weight) * columns),
          .tile_units = static_cast<unsigned>(columns)};
}

template <int kTokens>
Status start(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  CUtensorMap weights;
  CUtensorMap inputs;
  Status status = encode_weights(device.encoder, weights, params.weight);
  if (status != Status::kSuccess) return status;
  status = encode_inputs(
      device.encoder, inputs, params, kTokens, Layout<kTokens>::kBoxColumns,
      Layout<kTokens>::kExact ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B);
  if (status != Status::kSuccess) return status;
  const CodesProduct product{
      .cut = cut_of(params.weight),
      .tokens = static_cast<int>(params.rows),
      .outputs = static_cast<int>(params.weight.outputs),
      .gated = params.weight.gated,
      .meeting = {reinterpret_cast<unsigned*>(params.workspace),
                  reinterpret_cast<float4*>(params.workspace + kLinearCounterBytes)}};
  const auto blocks = std::min(product.cut.units,
                               static_cast<unsigned>(device.processors * Layout<kTokens>::kBlocks));
  return launch(codes_kernel<kTokens>, dim3(blocks), dim3(kThreads), Layout<kTokens>::kBytes,
                stream, weights, inputs, product, LinearEpilogue(params));
}

template <int... kTokens>
Status allow_all_shared() {
  Status status = Status::kSuccess;
  ((status = status == Status::kSuccess
                 ? status_of(cudaFuncSetAttribute(codes_kernel<kTokens>,
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  Layout<kTokens>::kBytes))
                 : status),
   ...);
  return status;
}

}  // namespace

Status prepare_codes() { return allow_all_shared<8, 16, 32, 64>(); }

bool fits_codes(const DeviceMatrix& weight) {
  constexpr std::int64_t kMaxUnits = std::int64_t{1} << 24U;  // times processors fit 32 bits
  if (weight.run_count != 1 || weight.runs[0].dtype != DType::kQ4_K) return false;
  const std::int64_t tiles = tiles_of(weight);
  return tiles * static_cast<std::int64_t>(sizeof(unsigned)) <=
             static_cast<std::int64_t>(kLinearCounterBytes) &&
         weight.inputs / kUnitColumns <= kMaxUnits / tiles && weight.outputs < (1 << 30);
}

Status linear_codes(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  constexpr std::int64_t kMost = 64;  // tokens of a launch: the registers cannot hold sums of more
  Status status = Status::kSuccess;
  for (std::int64_t first = 0; first < params.rows && status == Status::kSuccess; first += kMost) {
    CudaLinearParams part = params;
    part.rows = std::min(kMost, params.rows - first);
    part.in = from_row(params.in, first);
    part.residual = from_row(params.residual, first);
    part.out = from_row(params.out, first);
    // The last rows of a product in several launches are rounded like the other rows.
    const std::int64_t padded = params.rows > kMost ? kMost : part.rows;
    if (padded <= 8) {
      status = start<8>(part, device, stream);
    } else if (padded <= 16) {
      status = start<16>(part, device, stream);
    } else if (padded <= 32) {
      status = start<32>(part, device, stream);
    } else {
      status = start<kMost>(part, device, stream);
    }
  }
  return status;
}

}  // namespace weft::cuda
