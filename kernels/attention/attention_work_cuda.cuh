#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "weft/kernels/attention/attention_slots_cuda.h"
#include "weft/kernels/cuda/launch_cuda.cuh"

/// Shared by the attention kernels: handing out work, visible positions, adding up parts.
namespace weft::cuda {

/// The kernels behind attention(). The first does any items; the other two need has_tiles(), and
/// attention_decode() needs items of one token.
[[nodiscard]] Status attention_general(const CudaAttentionParams& params, Stream stream);
[[nodiscard]] Status attention_prefill(const CudaAttentionParams& params, Stream stream);
[[nodiscard]] Status attention_decode(const CudaAttentionParams& params, Stream stream);

inline constexpr int kWarpLanes = 32;
inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr float kLog2E = 1.4426950408889634F;

__device__ inline float minus_infinity() { return __int_as_float(0xff800000); }

struct PositionRange {
  std::int32_t begin;
  std::int32_t end;

  __device__ bool empty() const { return begin >= end; }
};

/// The positions of its context that the token at `position` sees.
__device__ inline PositionRange visible_positions(const CudaAttentionParams& params,
                                                  const DeviceSequence& sequence,
                                                  std::int32_t position) {
  PositionRange range{0, params.spec.causal ? position + 1 : sequence.context};
  if (params.spec.window > 0) {
    range.begin = max(range.begin, position - params.spec.window + 1);
    // Compares the difference, since position + window may overflow.
    if (range.end - position > params.spec.window) range.end = position + params.spec.window;
  }
  if (params.spec.chunk > 0) {
    const std::int32_t chunk = position / params.spec.chunk * params.spec.chunk;
    range.begin = max(range.begin, chunk);
    // Compares the difference, since chunk + spec.chunk may overflow.
    if (range.end - chunk > params.spec.chunk) range.end = chunk + params.spec.chunk;
  }
  return range;
}

__device__ inline PositionRange common(PositionRange a, PositionRange b) {
  return {max(a.begin, b.begin), min(a.end, b.end)};
}

/// Hands out units of work in order: a block begins with the unit of the block's index, and takes
/// the next free unit whenever it is ready. The queue's words are zero before and after a launch,
/// and untouched if each block has at most one unit. All threads of a block hold the same state.
class WorkQueue {
 public:
  __device__ WorkQueue(std::byte* workspace, std::uint32_t units)
      : words_(reinterpret_cast<std::uint32_t*>(workspace)),
        units_(units),
        unit_(blockIdx.x),
        has_more_(units > gridDim.x) {}

  __device__ bool has_unit() const { return unit_ < units_; }
  __device__ std::int32_t unit() const { return static_cast<std::int32_t>(unit_); }

  /// Claims the next unit; call it when this one is nearly done. The atomic takes a while, but a
  /// block that claims too early takes the unit from a block that is ready.
  __device__ void claim() {
    if (threadIdx.x != 0 || !has_more_ || is_claimed_) return;
    claimed_ = atomicAdd(words_, 1U);
    is_claimed_ = true;
  }

  /// Moves to the next unit. All threads of the block have finished with shared memory afterwards.
  __device__ void advance() {
    __shared__ std::uint32_t handed_out;
    claim();
    if (threadIdx.x == 0) handed_out = has_more_ ? claimed_ + gridDim.x : units_;
    is_claimed_ = false;
    __syncthreads();
    unit_ = handed_out;
    __syncthreads();
    if (!has_unit() && has_more_ && threadIdx.x == 0) leave();
  }

 private:
  /// The block that leaves last resets the words; the second word resets itself by wrapping around.
  __device__ void leave() {
    __threadfence();
    if (atomicInc(words_ + 1, gridDim.x - 1) == gridDim.x - 1) words_[0] = 0;
  }

  std::uint32_t* words_;
  std::uint32_t units_;
  std::uint32_t unit_;
  std::uint32_t claimed_ = 0;
  bool has_more_;
  bool is_claimed_ = false;
};

/// Call it after writing a part. Returns to all threads of the block whether all parts are written
/// now, and then resets the counter to zero. Each piece of work with parts needs a `counter` of
/// its own.
__device__ inline bool is_last_part(const CudaAttentionParams& params, std::int32_t counter,
                                    std::int32_t parts) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    std::uint32_t* word =
        reinterpret_cast<std::uint32_t*>(params.workspace) + kQueueWords + counter;
    is_last = atomicAdd(word, 1U) + 1 == static_cast<std::uint32_t>(parts);
    if (is_last) {
      *word = 0;
      __threadfence();
    }
  }
  __syncthreads();
  return is_last;
}

/// The greatest score of some positions, times log2(e), and the sum of the weights relative to it.
struct Statistics {
  float maximum;
  float total;
};

__device__ inline float* slot_sums(const CudaAttentionParams& params, std::int64_t slot,
                                   std::int32_t head) {
  return reinterpret_cast<float*>(params.workspace + kAttentionCounterBytes) +
         (slot * params.heads + head) * params.kv.head_size;
}

__device__ inline Statistics* slot_statistics(const CudaAttentionParams& params, std::int64_t slot,
                                              std::int32_t head) {
  return reinterpret_cast<Statistics*>(slot_sums(params, params.max_items, 0)) +
         (slot * params.heads + head);
}

/// Reads what another block has written, past this processor's own cache.
__device__ inline Statistics read_statistics(const Statistics* from) {
  return {__ldcg(&from->maximum), __ldcg(&from->total)};
}

/// 2^(a - b), where either may be minus infinity.
__device__ inline float weight_of(float a, float b) {
  return a == minus_infinity() ? 0.0F : exp2f(a - b);
}

/// The factor that turns the sums of values into results: 1 / sum of weights, which includes the
/// sink's; 0 for a token that sees no position.
__device__ inline float final_scale(const CudaAttentionParams& params, std::int32_t head,
                                    Statistics all) {
  if (params.sinks == nullptr) return all.total == 0 ? 0.0F : 1.0F / all.total;
  const float sink = params.sinks[head] * kLog2E;
  const float maximum = fmaxf(all.maximum, sink);
  const float factor = all.total == 0 ? 0.0F : weight_of(all.maximum, maximum);
  const float total = all.total * factor + weight_of(sink, maximum);
  return total == 0 ? 0.0F : factor / total;
}

__device__ inline void store_out(const CudaAttentionParams& params, std::int64_t row,
                                 std::int64_t column, float value) {
  const std::int64_t at = row * params.out.stride + column;
  switch (params.out.dtype) {
    case DType::kF16:
      static_cast<__half*>(params.out.data)[at] = __float2half_rn(value);
      break;
    case DType::kBF16:
      static_cast<__nv_bfloat16*>(params.out.data)[at] = __float2bfloat16_rn(value);
      break;
    default:
      static_cast<float*>(params.out.data)[at] = value;
  }
}

/// Two neighbours, the first at an even column.
__device__ inline void store_pair_out(const CudaAttentionParams& params, std::int64_t row,
                                      std::int64_t column, float low, float high) {
  const std::int64_t at = row * params.out.stride + column;
  switch (params.out.dtype) {
    case DType::kF16:
      *reinterpret_cast<__half2*>(static_cast<__half*>(params.out.data) + at) =
          __floats2half2_rn(low, high);
      break;
    case DType::kBF16:
      *reinterpret_cast<__nv_bfloat162*>(static_cast<__nv_bfloat16*>(params.out.data) + at) =
          __floats2bfloat162_rn(low, high);
      break;
    default:
      *reinterpret_cast<float2*>(static_cast<float*>(params.out.data) + at) = {low, high};
  }
}

__device__ inline const float* query_of(const CudaAttentionParams& params, std::int64_t row,
                                        std::int32_t head) {
  return static_cast<const float*>(params.queries.data) + row * params.queries.stride +
         std::int64_t{head} * params.kv.head_size;
}

/// Finds the cache row of a position of a sequence's context; keys and values have the same rows.
class PageTable {
 public:
  __device__ PageTable(const CudaAttentionParams& params, const DeviceSequence& sequence,
                       std::int32_t kv_head)
      : pages_(params.spans.pages + sequence.first_page),
        page_tokens_(params.kv.page_tokens),
        kv_heads_(params.kv.kv_heads),
        kv_head_(kv_head) {
    const bool is_power = (page_tokens_ & (page_tokens_ - 1)) == 0;
    shift_ = is_power ? 31 - __clz(page_tokens_) : -1;
  }

  __device__ std::uint32_t row(std::int32_t position) const {
    const std::int32_t index = shift_ >= 0 ? position >> shift_ : position / page_tokens_;
    const std::int32_t offset = position - index * page_tokens_;
    const auto page = static_cast<std::uint32_t>(pages_[index]);
    return (page * kv_heads_ + kv_head_) * page_tokens_ + offset;
  }

 private:
  const std::int32_t* pages_;
  std::int32_t page_tokens_;
  std::int32_t kv_heads_;
  std::int32_t kv_head_;
  std::int32_t shift_;  // shift for a page size that is a power of two, since division is slow
};

/// Sets whether a block may have `bytes` bytes of shared memory on the current device.
[[nodiscard]] inline Status fits_shared(std::size_t bytes, bool& fits) {
  int device = 0;
  int most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  fits = bytes <= static_cast<std::size_t>(most);
  return status_of(error);
}

/// Returns a grid of at most `units` blocks: as many as the device can run at a time, for a kernel
/// with this many threads and bytes of shared memory. If launches of the kernel differ in bytes,
/// `most_bytes` is the largest: all threads of the process share the kernel's limit.
template <class... Parameters>
[[nodiscard]] Status persistent_grid(void (*kernel)(Parameters...), int threads, std::size_t bytes,
                                     std::int64_t units, dim3& grid, std::size_t most_bytes = 0) {
  int device = 0;
  int processors = 0;
  int blocks = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(std::max(bytes, most_bytes)));
  }
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes);
  }
  if (error == cudaSuccess && blocks == 0) error = cudaErrorLaunchOutOfResources;
  const std::int64_t most = std::int64_t{processors} * blocks;
  grid = dim3(static_cast<unsigned>(units < most ? units : most));
  return status_of(error);
}

}  // namespace weft::cuda
