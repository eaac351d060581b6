#pragma once

#include <cstdint>

#include "weft/kernels/attention/attention_work_cuda.cuh"
#include "weft/kernels/attention/kv_row_cuda.cuh"
#include "weft/kernels/cuda/instructions_cuda.cuh"

/// Shared by the kernels on tensor cores: m16n8k16 tiles of 16-bit numbers with sums in float32
/// (PTX ISA, "Matrix Fragments for mma.m16n8k16"), and the fetching of keys and values to shared
/// memory during computation. Lane l holds columns 2 * (l % 4) and the next of rows l / 4 and
/// l / 4 + 8 of a sum's tile.
namespace weft::cuda {

/// Keys that a warp fetches at a time, and the depth of a product over them.
inline constexpr int kTileKeys = 16;
inline constexpr int kTileRows = 16;

/// In shared memory, a gap of 16 bytes follows each row of D numbers of 16 bits. The stride is an
/// odd number of 16-byte words, so the eight rows that a matrix load reads are in different banks.
template <int kHeadSize>
inline constexpr int kRowBytes = kHeadSize * 2 + 16;

template <class Number>
__device__ std::uint32_t packed(float low, float high);

template <>
__device__ inline std::uint32_t packed<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

template <>
__device__ inline std::uint32_t packed<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

/// The row of a position that is past the end.
inline constexpr std::uint32_t kNoRow = 0xffffffffU;

/// Caches of numbers that tensor cores take unchanged: their rows are copied asynchronously.
template <class NumberInTiles>
class PlainCache {
 public:
  using Number = NumberInTiles;

  /// Copies the rows of lanes 0 .. 15 to shared memory, zeros for kNoRow. A whole warp calls it.
  template <int kHeadSize>
  __device__ static void fetch(const DeviceKvLayer& kv, std::uint32_t row, std::uint32_t keys_to,
                               std::uint32_t values_to) {
    constexpr int kWords = kHeadSize / 8;  // words of 16 bytes
    const auto lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
    for (int i = 0; i < kTileKeys * kWords / kWarpLanes; ++i) {
      const int word = i * kWarpLanes + lane;
      const int key = word / kWords;
      const std::uint32_t from_row = __shfl_sync(kAllLanes, row, key);
      const bool present = from_row != kNoRow;
      const int column = word % kWords * 16;
      const std::int64_t from = std::int64_t{present ? from_row : 0U} * (kHeadSize * 2) + column;
      const int to = key * kRowBytes<kHeadSize> + column;
      fetch_16_bytes(keys_to + to, kv.keys + from, present);
      fetch_16_bytes(values_to + to, kv.values + from, present);
    }
  }
};

/// Caches of codes, which become bf16 when fetched: an f32 scale may exceed the range of f16.
template <class Code>
class CodedCache {
 public:
  using Number = __nv_bfloat16;

  template <int kHeadSize>
  __device__ static void fetch(const DeviceKvLayer& kv, std::uint32_t row, std::uint32_t keys_to,
                               std::uint32_t values_to) {
    fetch_one<kHeadSize>(kv.keys, row, keys_to);
    fetch_one<kHeadSize>(kv.values, row, values_to);
  }

 private:
  /// Words that a lane loads at a time, so that it waits for memory once for all of them.
  static constexpr int kLoadsAtOnce = 8;

  template <int kHeadSize>
  __device__ static void fetch_one(const std::byte* cache, std::uint32_t row, std::uint32_t to) {
    constexpr int kWords = kHeadSize / 4;  // words of 4 codes
    constexpr int kSteps = kTileKeys * kWords / kWarpLanes;
    const auto lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const float scale = row == kNoRow ? 0.0F : __uint_as_float(*word_of<kHeadSize>(cache, row, 0));
#pragma unroll
    for (int begin = 0; begin < kSteps; begin += kLoadsAtOnce) {
      std::uint32_t codes[kLoadsAtOnce];
#pragma unroll
      for (int i = 0; i < kLoadsAtOnce && begin + i < kSteps; ++i) {
        const int word = (begin + i) * kWarpLanes + lane;
        const std::uint32_t from_row = __shfl_sync(kAllLanes, row, word / kWords);
        const bool present = from_row != kNoRow;
        codes[i] = present ? *word_of<kHeadSize>(cache, from_row, 1 + word % kWords) : 0U;
      }
#pragma unroll
      for (int i = 0; i < kLoadsAtOnce && begin + i < kSteps; ++i) {
        const int word = (begin + i) * kWarpLanes + lane;
        const int key = word / kWords;
        store_four(to + key * kRowBytes<kHeadSize> + word % kWords * 8, codes[i],
                   __shfl_sync(kAllLanes, scale, key));
      }
    }
  }

  /// Word 0 of a row is its scale. Rows are whole words: kHeadSize is a multiple of 4.
  template <int kHeadSize>
  __device__ static const std::uint32_t* word_of(const std::byte* cache, std::uint32_t row,
                                                 int word) {
    return reinterpret_cast<const std::uint32_t*>(cache) +
           std::int64_t{row} * ((kKvScaleBytes + kHeadSize) / 4) + word;
  }

  __device__ static float number(std::uint32_t codes, int i, float scale) {
    return Code::decode(static_cast<std::uint8_t>(codes >> (8 * i))) * scale;
  }

  __device__ static void store_four(std::uint32_t to, std::uint32_t codes, float scale) {
    store_shared(to, packed<Number>(number(codes, 0, scale), number(codes, 1, scale)),
                 packed<Number>(number(codes, 2, scale), number(codes, 3, scale)));
  }
};

/// Fetches 16 keys and their values at a time to shared memory, by one warp.
template <class Cache, int kHeadSize>
class KeyFetcher {
 public:
  __device__ KeyFetcher(const CudaAttentionParams& params, const DeviceSequence& sequence,
                        std::int32_t kv_head)
      : kv_(params.kv), table_(params, sequence, kv_head) {}

  /// Returns the cache row of the lane's key, counted from `position`; kNoRow for lanes from 16 on.
  /// Call it early, since the page table is read from memory as well.
  __device__ std::uint32_t row(std::int32_t position, std::int32_t end) const {
    const auto lane = static_cast<std::int32_t>(threadIdx.x) % kWarpLanes;
    if (lane >= kTileKeys || position + lane >= end) return kNoRow;
    return table_.row(position + lane);
  }

  __device__ void fetch(std::uint32_t row, std::uint32_t keys_to, std::uint32_t values_to) const {
    Cache::template fetch<kHeadSize>(kv_, row, keys_to, values_to);
  }

 private:
  const DeviceKvLayer& kv_;  // part of the launch's parameters
  PageTable table_;
};

/// Calls `launch.operator()<Cache, kHeadSize>()` for a cache that has_tiles() knows.
template <class Cache, class Launch>
[[nodiscard]] Status launch_for_head_size(std::int32_t head_size, const Launch& launch) {
  switch (head_size) {
    case 64:
      return launch.template operator()<Cache, 64>();
    case 80:
      return launch.template operator()<Cache, 80>();
    case 96:
      return launch.template operator()<Cache, 96>();
    case 128:
      return launch.template operator()<Cache, 128>();
    case 256:
      return launch.template operator()<Cache, 256>();
    default:
      return status_of(cudaErrorInvalidValue);
  }
}

template <class Launch>
[[nodiscard]] Status launch_for_cache(const DeviceKvLayer& kv, const Launch& launch) {
  switch (kv.dtype) {
    case DType::kF16:
      return launch_for_head_size<PlainCache<__half>>(kv.head_size, launch);
    case DType::kBF16:
      return launch_for_head_size<PlainCache<__nv_bfloat16>>(kv.head_size, launch);
    case DType::kI8:
      return launch_for_head_size<CodedCache<Int8Code>>(kv.head_size, launch);
    case DType::kF8_E4M3:
      return launch_for_head_size<CodedCache<E4M3Code>>(kv.head_size, launch);
    default:
      return status_of(cudaErrorInvalidValue);
  }
}

/// Turns products into scores times log2(e), with the soft cap and slope of a query's head.
class ScoreShaper {
 public:
  __device__ ScoreShaper(const CudaAttentionParams& params, std::int32_t head)
      : scale_(params.spec.scale * kLog2E),
        cap_(params.spec.soft_cap * kLog2E),
        twice_by_cap_(params.spec.soft_cap > 0 ? 2 * scale_ / params.spec.soft_cap : 0.0F),
        slope_(params.alibi_slopes == nullptr ? 0.0F : params.alibi_slopes[head] * kLog2E) {}

  /// `distance`: the key's position less the query's.
  __device__ float operator()(float product, std::int32_t distance) const {
    float score = product * scale_;
    // tanh(x) = 1 - 2 / (e^2x + 1): its absolute error is a rounding error of a number near 1.
    if (cap_ > 0) {
      score = cap_ - __fdividef(2 * cap_, exp2_fast(product * twice_by_cap_) + 1);
    }
    return fmaf(slope_, static_cast<float>(distance), score);
  }

 private:
  float scale_;
  float cap_;
  float twice_by_cap_;
  float slope_;
};

/// Parts of one head's result, which a warp adds up in the order of parts.
struct PartialResults {
  const float* sums;             // part 0's
  const Statistics* statistics;  // part 0's
  std::int64_t sums_step;
  std::int64_t statistics_step;
  std::int32_t count;
};

/// Each lane has four neighbouring numbers of a head's D, and four more for each further 128.
template <int kHeadSize>
struct HeadSums {
  static constexpr int kQuads = kHeadSize / 4;
  static constexpr int kLaneQuads = (kQuads + kWarpLanes - 1) / kWarpLanes;

  float4 quads[kLaneQuads];
  Statistics all;

  /// The first number of quad q of this lane; beyond D if there is none.
  __device__ static int column(int q) {
    return (q * kWarpLanes + static_cast<int>(threadIdx.x) % kWarpLanes) * 4;
  }
};

template <bool kShared>
__device__ float4 read_quad(const float* from) {
  if constexpr (kShared) return *reinterpret_cast<const float4*>(from);
  return __ldcg(reinterpret_cast<const float4*>(from));
}

/// Parts whose sums a lane loads at a time, so that it waits for memory once. Parts of other blocks
/// come from the device's memory: a context that fills the device has some twenty. The number
/// divides a warp's lanes, and a lane holds 128 numbers at most.
template <int kHeadSize, bool kShared>
inline constexpr int kPartsAtOnce = kShared ? 8 : 32 / HeadSums<kHeadSize>::kLaneQuads;

/// Adds up parts in shared memory (kShared) or in slots. Lane l reads the statistics of parts
/// l, l + 32...
template <int kHeadSize, bool kShared>
__device__ HeadSums<kHeadSize> put_together(const PartialResults& parts) {
  using Result = HeadSums<kHeadSize>;
  Result result{};
  constexpr int kAtOnce = kPartsAtOnce<kHeadSize, kShared>;
  float4 sums[kAtOnce][Result::kLaneQuads];
  const auto read_sums = [&](std::int32_t first) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
      for (int q = 0; q < Result::kLaneQuads; ++q) {
        const float* from = parts.sums + (first + i) * parts.sums_step + Result::column(q);
        const bool present = first + i < parts.count && Result::column(q) < kHeadSize;
        sums[i][q] = present ? read_quad<kShared>(from) : float4{};
      }
    }
  };
  const auto statistics = [&](std::int32_t part) -> Statistics {
    if (part >= parts.count) return {minus_infinity(), 0};
    const Statistics* from = parts.statistics + part * parts.statistics_step;
    return kShared ? *from : read_statistics(from);
  };
  read_sums(0);
  const auto lane = static_cast<std::int32_t>(threadIdx.x) % kWarpLanes;
  float maximum = minus_infinity();
  for (std::int32_t part = lane; part < parts.count; part += kWarpLanes) {
    maximum = fmaxf(maximum, statistics(part).maximum);
  }
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    maximum = fmaxf(maximum, __shfl_xor_sync(kAllLanes, maximum, lanes));
  }
  float total = 0;
  float lane_weight = 0;
  for (std::int32_t part = 0; part < parts.count; part += kAtOnce) {
    if (part > 0) read_sums(part);
    if (part % kWarpLanes == 0) {
      const Statistics one = statistics(part + lane);
      lane_weight = weight_of(one.maximum, maximum);
      total = fmaf(one.total, lane_weight, total);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = __shfl_sync(kAllLanes, lane_weight, part % kWarpLanes + i);
#pragma unroll
      for (int q = 0; q < Result::kLaneQuads; ++q) {
        result.quads[q].x = fmaf(sums[i][q].x, weight, result.quads[q].x);
        result.quads[q].y = fmaf(sums[i][q].y, weight, result.quads[q].y);
        result.quads[q].z = fmaf(sums[i][q].z, weight, result.quads[q].z);
        result.quads[q].w = fmaf(sums[i][q].w, weight, result.quads[q].w);
      }
    }
  }
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    total += __shfl_xor_sync(kAllLanes, total, lanes);
  }
  result.all = {maximum, total};
  return result;
}

/// The parts of a token's head that its item's blocks have written.
__device__ inline PartialResults parts_in_slots(const CudaAttentionParams& params,
                                                const CudaAttentionItem& item, std::int32_t token,
                                                std::int32_t head) {
  const std::int32_t slot = item.first_slot + token;
  const std::int64_t step = std::int64_t{item.tokens} * params.heads;
  return {.sums = slot_sums(params, slot, head),
          .statistics = slot_statistics(params, slot, head),
          .sums_step = step * params.kv.head_size,
          .statistics_step = step,
          .count = item.parts};
}

template <int kHeadSize>
__device__ void write_slot(const CudaAttentionParams& params, std::int32_t slot, std::int32_t head,
                           const HeadSums<kHeadSize>& result) {
  float* to = slot_sums(params, slot, head);
#pragma unroll
  for (int q = 0; q < result.kLaneQuads; ++q) {
    if (result.column(q) < kHeadSize) {
      *reinterpret_cast<float4*>(to + result.column(q)) = result.quads[q];
    }
  }
  if (threadIdx.x % kWarpLanes == 0) *slot_statistics(params, slot, head) = result.all;
}

template <int kHeadSize>
__device__ void write_result(const CudaAttentionParams& params, std::int64_t row, std::int32_t head,
                             const HeadSums<kHeadSize>& result) {
  const float scale = final_scale(params, head, result.all);
#pragma unroll
  for (int q = 0; q < result.kLaneQuads; ++q) {
    if (result.column(q) >= kHeadSize) continue;
    const std::int64_t column = std::int64_t{head} * kHeadSize + result.column(q);
    const float4 sums = result.quads[q];
    store_pair_out(params, row, column, sums.x * scale, sums.y * scale);
    store_pair_out(params, row, column + 2, sums.z * scale, sums.w * scale);
  }
}

}  // namespace weft::cuda
