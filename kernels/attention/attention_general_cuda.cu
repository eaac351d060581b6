#include <cstdint>

#include "weft/kernels/attention/attention_work_cuda.cuh"
#include "weft/kernels/attention/kv_row_cuda.cuh"
#include "weft/kernels/attention/relative_bias.h"

// Attention of any head size, type and kind of score, in float32 and without tensor cores: each
// thread computes one key's score, then each thread adds up some columns of the values. Used for
// models at float32, and wherever the other kernels lack a feature.
namespace weft::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kBlockPositions = kThreads;

/// RelativeBuckets for the device: the first distance of each bucket that holds several distances.
struct BiasBuckets {
  std::int32_t side = 0;
  std::int32_t exact = 0;
  bool bidirectional = false;
  std::int32_t starts[kMaxRelativeBuckets] = {};

  __device__ std::int32_t bucket_of(std::int32_t distance) const {
    const std::int32_t base = bidirectional && distance > 0 ? side : 0;
    const std::int32_t magnitude = bidirectional ? abs(distance) : max(-distance, 0);
    if (magnitude < exact) return base + magnitude;
    std::int32_t low = 0;
    std::int32_t high = side - exact - 1;
    while (low < high) {
      const std::int32_t middle = (low + high + 1) / 2;
      if (starts[middle] <= magnitude) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return base + exact + low;
  }
};

BiasBuckets bias_buckets(const CudaAttentionParams& params) {
  BiasBuckets result;
  if (params.relative_bias == nullptr) return result;
  const RelativeBuckets buckets(params.spec.relative_buckets, params.spec.relative_max_distance,
                                params.spec.relative_bidirectional);
  result.bidirectional = params.spec.relative_bidirectional;
  result.side = params.spec.relative_buckets / (params.spec.relative_bidirectional ? 2 : 1);
  result.exact = result.side / 2;
  std::int32_t start = result.exact;
  for (std::int32_t i = 0; i < result.side - result.exact; ++i) {
    while (start < params.spec.relative_max_distance &&
           buckets.bucket_of(-start) < result.exact + i) {
      ++start;
    }
    result.starts[i] = start;
  }
  return result;
}

/// Pointers into the block's shared memory; the last three arrays have D numbers each.
struct Shared {
  float scores[kBlockPositions];
  std::uint32_t rows[kBlockPositions];
  float of_warps[kWarps];
  float query_and_sums[];

  __device__ float* query() { return query_and_sums; }
  __device__ float* sums(std::int32_t head_size) { return query_and_sums + head_size; }
};

__device__ float block_maximum(Shared& shared, float value) {
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, lanes));
  }
  __syncthreads();
  if (threadIdx.x % kWarpLanes == 0) shared.of_warps[threadIdx.x / kWarpLanes] = value;
  __syncthreads();
  for (int warp = 0; warp < kWarps; ++warp) value = fmaxf(value, shared.of_warps[warp]);
  return value;
}

__device__ float block_sum(Shared& shared, float value) {
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, lanes);
  }
  __syncthreads();
  if (threadIdx.x % kWarpLanes == 0) shared.of_warps[threadIdx.x / kWarpLanes] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += shared.of_warps[warp];
  return sum;
}

/// A token and head of an item.
struct Query {
  const CudaAttentionItem& item;
  const DeviceSequence& sequence;
  std::int32_t token;  // index among the item's tokens
  std::int32_t head;

  __device__ std::int32_t position() const { return sequence.start + item.token + token; }
  __device__ std::int64_t row() const { return sequence.first + item.token + token; }
  __device__ std::int32_t slot(std::int32_t part) const {
    return item.first_slot + part * item.tokens + token;
  }
};

__device__ float shaped(const CudaAttentionParams& params, const BiasBuckets& buckets, float score,
                        std::int32_t head, std::int32_t distance) {
  score *= params.spec.scale;
  if (params.spec.soft_cap > 0) score = params.spec.soft_cap * tanhf(score / params.spec.soft_cap);
  if (params.alibi_slopes != nullptr) {
    score += params.alibi_slopes[head] * static_cast<float>(distance);
  }
  if (params.relative_bias != nullptr) {
    score +=
        params.relative_bias[head * params.spec.relative_buckets + buckets.bucket_of(distance)];
  }
  return score;
}

template <class Row>
__device__ float score_of(const CudaAttentionParams& params, const float* query,
                          std::uint32_t row) {
  const std::int32_t size = params.kv.head_size;
  const Row key(params.kv.keys, row, size);
  float sum = 0;
#pragma unroll 4
  for (std::int32_t d = 0; d < size; ++d) sum = fmaf(query[d], key.number(d), sum);
  return sum;
}

/// Adds the values of the block's first `count` positions to the sums, after scaling these.
template <class Row>
__device__ void add_values(const CudaAttentionParams& params, Shared& shared, std::int32_t count,
                           float rescale) {
  const std::int32_t size = params.kv.head_size;
  for (std::int32_t d = static_cast<std::int32_t>(threadIdx.x); d < size; d += kThreads) {
    float sum = shared.sums(size)[d] * rescale;
#pragma unroll 8
    for (std::int32_t i = 0; i < count; ++i) {
      const Row value(params.kv.values, shared.rows[i], size);
      sum = fmaf(shared.scores[i], value.number(d), sum);
    }
    shared.sums(size)[d] = sum;
  }
}

/// The sums of values over the positions stay in shared memory.
template <class Row>
__device__ Statistics attend(const CudaAttentionParams& params, const BiasBuckets& buckets,
                             const Query& query, PositionRange positions, Shared& shared) {
  const std::int32_t size = params.kv.head_size;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t kv_head = query.head / (params.heads / params.kv.kv_heads);
  const PageTable table(params, query.sequence, kv_head);
  const float* from = query_of(params, query.row(), query.head);
  for (std::int32_t d = thread; d < size; d += kThreads) {
    shared.query()[d] = from[d];
    shared.sums(size)[d] = 0;
  }
  __syncthreads();
  Statistics all{minus_infinity(), 0};
  for (std::int32_t begin = positions.begin; begin < positions.end; begin += kBlockPositions) {
    const std::int32_t position = begin + thread;
    const bool seen = position < positions.end;
    float score = minus_infinity();
    if (seen) {
      const std::uint32_t row = table.row(position);
      shared.rows[thread] = row;
      score = kLog2E * shaped(params, buckets, score_of<Row>(params, shared.query(), row),
                              query.head, position - query.position());
    }
    const float maximum = fmaxf(all.maximum, block_maximum(shared, score));
    const float weight = seen ? weight_of(score, maximum) : 0.0F;
    shared.scores[thread] = weight;
    const float rescale = weight_of(all.maximum, maximum);
    all = {maximum, all.total * rescale + block_sum(shared, weight)};
    add_values<Row>(params, shared, min(kBlockPositions, positions.end - begin), rescale);
    __syncthreads();
  }
  return all;
}

__device__ void write_part(const CudaAttentionParams& params, const Query& query, Statistics all,
                           Shared& shared) {
  const std::int32_t slot = query.slot(query.item.part);
  const std::int32_t size = params.kv.head_size;
  if (threadIdx.x == 0) *slot_statistics(params, slot, query.head) = all;
  float* to = slot_sums(params, slot, query.head);
  for (std::int32_t d = static_cast<std::int32_t>(threadIdx.x); d < size; d += kThreads) {
    to[d] = shared.sums(size)[d];
  }
}

/// Adds up the results of all parts, in the order of parts.
__device__ Statistics read_parts(const CudaAttentionParams& params, const Query& query,
                                 Shared& shared) {
  Statistics all{minus_infinity(), 0};
  const std::int32_t size = params.kv.head_size;
  for (std::int32_t part = 0; part < query.item.parts; ++part) {
    const Statistics* one = slot_statistics(params, query.slot(part), query.head);
    all.maximum = fmaxf(all.maximum, read_statistics(one).maximum);
  }
  for (std::int32_t d = static_cast<std::int32_t>(threadIdx.x); d < size; d += kThreads) {
    shared.sums(size)[d] = 0;
  }
  for (std::int32_t part = 0; part < query.item.parts; ++part) {
    const std::int32_t slot = query.slot(part);
    const Statistics one = read_statistics(slot_statistics(params, slot, query.head));
    const float weight = weight_of(one.maximum, all.maximum);
    all.total += one.total * weight;
    const float* from = slot_sums(params, slot, query.head);
    for (std::int32_t d = static_cast<std::int32_t>(threadIdx.x); d < size; d += kThreads) {
      shared.sums(size)[d] += __ldcg(from + d) * weight;
    }
  }
  return all;
}

__device__ void write_result(const CudaAttentionParams& params, const Query& query, Statistics all,
                             Shared& shared) {
  const std::int32_t size = params.kv.head_size;
  const float scale = final_scale(params, query.head, all);
  for (std::int32_t d = static_cast<std::int32_t>(threadIdx.x); d < size; d += kThreads) {
    store_out(params, query.row(), std::int64_t{query.head} * size + d,
              shared.sums(size)[d] * scale);
  }
}

/// One head of an item.
template <class Row>
__device__ void attend_item(const CudaAttentionParams& params, const BiasBuckets& buckets,
                            const CudaAttentionItem& item, std::int32_t head, Shared& shared) {
  const DeviceSequence sequence = params.spans.sequences[item.sequence];
  for (std::int32_t token = 0; token < item.tokens; ++token) {
    const Query query{item, sequence, token, head};
    const PositionRange positions =
        common(visible_positions(params, sequence, query.position()), {item.begin, item.end});
    const Statistics all = attend<Row>(params, buckets, query, positions, shared);
    if (item.parts == 1) {
      write_result(params, query, all, shared);
    } else {
      write_part(params, query, all, shared);
    }
    __syncthreads();
  }
  if (item.parts == 1) return;
  if (!is_last_part(params, item.counter * params.heads + head, item.parts)) return;
  for (std::int32_t token = 0; token < item.tokens; ++token) {
    const Query query{item, sequence, token, head};
    const Statistics all = read_parts(params, query, shared);
    write_result(params, query, all, shared);
  }
}

template <class Row>
__global__ void __launch_bounds__(kThreads)
    general_kernel(const __grid_constant__ CudaAttentionParams params,
                   const __grid_constant__ BiasBuckets buckets) {
  WEFT_DYNAMIC_SHARED(__align__(16) unsigned char, memory);
  let_successor_start();
  wait_for_predecessor();
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const auto units = static_cast<std::uint32_t>(*params.item_count * params.heads);
  for (WorkQueue queue(params.workspace, units); queue.has_unit(); queue.advance()) {
    const CudaAttentionItem item = params.items[queue.unit() / params.heads];
    attend_item<Row>(params, buckets, item, queue.unit() % params.heads, shared);
  }
}

template <class Row>
Status launch_general(const CudaAttentionParams& params, Stream stream) {
  const std::size_t bytes = sizeof(Shared) + 2 * sizeof(float) * params.kv.head_size;
  dim3 grid;
  const Status status = persistent_grid(general_kernel<Row>, kThreads, bytes,
                                        std::int64_t{params.max_items} * params.heads, grid);
  if (status != Status::kSuccess) return status;
  return launch(general_kernel<Row>, grid, dim3(kThreads), bytes, stream, params,
                bias_buckets(params));
}

}  // namespace

Status attention_general(const CudaAttentionParams& params, Stream stream) {
  switch (params.kv.dtype) {
    case DType::kF16:
      return launch_general<PlainKvRow<__half>>(params, stream);
    case DType::kBF16:
      return launch_general<PlainKvRow<__nv_bfloat16>>(params, stream);
    case DType::kI8:
      return launch_general<CodedKvRow<Int8Code>>(params, stream);
    case DType::kF8_E4M3:
      return launch_general<CodedKvRow<E4M3Code>>(params, stream);
    default:
      return launch_general<PlainKvRow<float>>(params, stream);
  }
}

}  // namespace weft::cuda
