#include <cstdint>

#include "weft/kernels/attention/attention_tile_cuda.cuh"

// Attention of prompts, and of mixed steps, over 16-bit KV on tensor cores (FlashAttention-2, Dao,
// arXiv 2307.08691). The rows of a block's tiles are the queries of several tokens and of all heads
// that share a KV head. Queries and weights are rounded to the type of keys and values; sums are in
// float32.
namespace weft::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kBlockKeys = kWarps * kTileKeys;  // each warp fetches one tile of keys

/// Tiles of 16 rows of a warp. With two, each key read from shared memory is multiplied twice, or
/// that memory would be the bottleneck; 256 numbers a head leave registers for one tile only. With
/// 128 numbers one tile fits the 99 KB that blocks of consumer GPUs have.
constexpr int row_tiles_of(int head_size) { return head_size <= 128 ? 2 : 1; }

template <int kOfHead, int kTiles>
struct Block {
  static constexpr int kHeadSize = kOfHead;
  static constexpr int kRowTiles = kTiles;
  static constexpr int kWarpRows = kRowTiles * kTileRows;
  static constexpr int kRows = kWarps * kWarpRows;
  static constexpr int kQueryBytes = kRows * kRowBytes<kHeadSize>;
  static constexpr int kTileBytes = kBlockKeys * kRowBytes<kHeadSize>;
  static constexpr int kStageBytes = 2 * kTileBytes;  // keys, then values
  static constexpr int kStages = 2;
  static constexpr int kBytes = kQueryBytes + kStages * kStageBytes;
};

/// A KV head of an item. Row r of its queries is of token r / group and head r % group.
struct Unit {
  CudaAttentionItem item;
  DeviceSequence sequence;
  std::int32_t kv_head;
  std::int32_t group;

  __device__ std::int32_t rows() const { return item.tokens * group; }
  __device__ std::int32_t token(std::int32_t row) const { return row / group; }
  __device__ std::int32_t head(std::int32_t row) const { return kv_head * group + row % group; }
  __device__ std::int32_t position(std::int32_t row) const {
    return sequence.start + item.token + token(row);
  }
  __device__ std::int64_t step_row(std::int32_t row) const {
    return std::int64_t{sequence.first} + item.token + token(row);
  }
};

/// Numbers that a thread asks for at a time when it loads queries.
constexpr int kLoadsAtOnce = 8;

/// Copies the queries of rows from `first` on to shared memory. Past the unit's last row, memory
/// keeps its old content, which is harmless since rows do not mix.
template <class Number, class Block>
__device__ void load_queries(const CudaAttentionParams& params, const Unit& unit,
                             std::int32_t first, unsigned char* to) {
  constexpr int kHeadSize = Block::kHeadSize;
  constexpr int kQuads = kHeadSize / 4;
  const std::int32_t quads = min(Block::kRows, unit.rows() - first) * kQuads;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  for (std::int32_t base = thread; base < quads; base += kThreads * kLoadsAtOnce) {
    float4 queries[kLoadsAtOnce];
#pragma unroll
    for (int i = 0; i < kLoadsAtOnce; ++i) {
      const std::int32_t at = min(base + i * kThreads, quads - 1);
      const std::int32_t row = first + at / kQuads;
      const float* from = query_of(params, unit.step_row(row), unit.head(row));
      queries[i] = *reinterpret_cast<const float4*>(from + at % kQuads * 4);
    }
#pragma unroll
    for (int i = 0; i < kLoadsAtOnce; ++i) {
      const std::int32_t at = base + i * kThreads;
      const float4 query = queries[i];
      if (at >= quads) continue;
      *reinterpret_cast<uint2*>(to + at / kQuads * kRowBytes<kHeadSize> + at % kQuads * 8) = {
          packed<Number>(query.x, query.y), packed<Number>(query.z, query.w)};
    }
  }
}

/// A warp's computation for its rows. Lane l has rows l / 4 + 8 h of each tile, h = 0, 1.
template <class Number, class Block>
class RowWorker {
 public:
  static constexpr int kHeadSize = Block::kHeadSize;
  static constexpr int kTiles = Block::kRowTiles;

  /// `first`: the block's first row, `queries`: where this warp's lie in shared memory.
  __device__ RowWorker(const CudaAttentionParams& params, const Unit& unit, std::int32_t first,
                       std::uint32_t queries)
      : params_(params),
        unit_(unit),
        first_(first + static_cast<std::int32_t>(threadIdx.x) / kWarpLanes * Block::kWarpRows),
        queries_(queries + lane_ % 16 * kRowBytes<kHeadSize> + lane_ / 16 * 16),
        is_plain_(params.spec.soft_cap <= 0 && params.alibi_slopes == nullptr) {
#pragma unroll
    for (auto& tile : rows_) tile[0] = tile[1] = {minus_infinity(), 0};
  }

  __device__ bool has_rows() const { return first_ < unit_.rows(); }

  /// Adds the block's keys and values from `position` on; `masked` unless all rows see all of them.
  __device__ void add(std::uint32_t keys, std::uint32_t values, std::int32_t position,
                      bool masked) {
    float scores[kTiles][kBlockKeys / 8][4] = {};
    multiply_keys(keys, scores);
    std::uint32_t weights[kTiles][kBlockKeys / 16][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      if (!is_plain_) shape(scores[tile], tile, position);
      if (masked) mask(scores[tile], tile, position);
      weigh(scores[tile], tile);
#pragma unroll
      for (int k = 0; k < kBlockKeys / 16; ++k) {
        const auto& low = scores[tile][2 * k];
        const auto& high = scores[tile][2 * k + 1];
        weights[tile][k][0] = packed<Number>(low[0], low[1]);
        weights[tile][k][1] = packed<Number>(low[2], low[3]);
        weights[tile][k][2] = packed<Number>(high[0], high[1]);
        weights[tile][k][3] = packed<Number>(high[2], high[3]);
      }
    }
    multiply_values(values, weights);
  }

  /// Writes the results to the output, or to the part's slots.
  __device__ void write() {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Statistics all = rows_[tile][half];
        all.total += __shfl_xor_sync(kAllLanes, all.total, 1);
        all.total += __shfl_xor_sync(kAllLanes, all.total, 2);
        const std::int32_t row = row_of(tile, half);
        if (row >= unit_.rows()) continue;
        if (unit_.item.parts == 1) {
          write_result(tile, half, row, final_scale(params_, unit_.head(row), all));
        } else {
          write_part(tile, half, row, all);
        }
      }
    }
  }

 private:
  __device__ std::int32_t row_of(int tile, int half) const {
    return first_ + tile * kTileRows + half * 8 + lane_ / 4;
  }

  /// Rows past the end repeat the last row, and their results are thrown away.
  __device__ std::int32_t real_row(int tile, int half) const {
    return min(row_of(tile, half), unit_.rows() - 1);
  }

  __device__ void multiply_keys(std::uint32_t keys,
                                float (&scores)[kTiles][kBlockKeys / 8][4]) const {
    const std::uint32_t from =
        keys + (lane_ / 16 * 8 + lane_ % 8) * kRowBytes<kHeadSize> + lane_ / 8 % 2 * 16;
#pragma unroll
    for (int d = 0; d < kHeadSize / 16; ++d) {
      std::uint32_t queries[kTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        load_matrices(queries[tile], queries_ + tile * kTileRows * kRowBytes<kHeadSize> + d * 32);
      }
#pragma unroll
      for (int k = 0; k < kBlockKeys / 16; ++k) {
        std::uint32_t key[4];
        load_matrices(key, from + k * 16 * kRowBytes<kHeadSize> + d * 32);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          multiply_add<Number>(scores[tile][2 * k], queries[tile], key[0], key[1]);
          multiply_add<Number>(scores[tile][2 * k + 1], queries[tile], key[2], key[3]);
        }
      }
    }
  }

  __device__ void multiply_values(std::uint32_t values,
                                  const std::uint32_t (&weights)[kTiles][kBlockKeys / 16][4]) {
    const std::uint32_t from = values + lane_ % 16 * kRowBytes<kHeadSize> + lane_ / 16 * 16;
#pragma unroll
    for (int k = 0; k < kBlockKeys / 16; ++k) {
#pragma unroll
      for (int d = 0; d < kHeadSize / 16; ++d) {
        std::uint32_t value[4];
        load_matrices_turned(value, from + k * 16 * kRowBytes<kHeadSize> + d * 32);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          multiply_add<Number>(sums_[tile][2 * d], weights[tile][k], value[0], value[1]);
          multiply_add<Number>(sums_[tile][2 * d + 1], weights[tile][k], value[2], value[3]);
        }
      }
    }
  }

  /// The position of a tile's number i of 8 neighbouring keys.
  __device__ std::int32_t key_of(std::int32_t position, int eight, int i) const {
    return position + eight * 8 + lane_ % 4 * 2 + i % 2;
  }

  /// Turns products into scores times log2(e) where scores have a soft cap or a slope.
  __device__ void shape(float (&scores)[kBlockKeys / 8][4], int tile, std::int32_t position) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int32_t row = real_row(tile, half);
      const ScoreShaper shaper(params_, unit_.head(row));
      const std::int32_t from = unit_.position(row);
#pragma unroll
      for (int eight = 0; eight < kBlockKeys / 8; ++eight) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[eight][i] = shaper(scores[eight][i], key_of(position, eight, i) - from);
        }
      }
    }
  }

  __device__ void mask(float (&scores)[kBlockKeys / 8][4], int tile, std::int32_t position) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int32_t from = unit_.position(real_row(tile, half));
      const PositionRange seen = common(visible_positions(params_, unit_.sequence, from),
                                        {unit_.item.begin, unit_.item.end});
#pragma unroll
      for (int eight = 0; eight < kBlockKeys / 8; ++eight) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          const std::int32_t key = key_of(position, eight, i);
          if (key < seen.begin || key >= seen.end) scores[eight][i] = minus_infinity();
        }
      }
    }
  }

  /// Turns scores into weights relative to the row's greatest score so far.
  __device__ void weigh(float (&scores)[kBlockKeys / 8][4], int tile) {
    const float scale = is_plain_ ? params_.spec.scale * kLog2E : 1.0F;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float greatest = minus_infinity();
#pragma unroll
      for (int eight = 0; eight < kBlockKeys / 8; ++eight) {
        greatest = fmaxf(greatest, fmaxf(scores[eight][2 * half], scores[eight][2 * half + 1]));
      }
      greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, 1));
      greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, 2));
      const float measure = raise_maximum(tile, half, greatest * scale);
      float total = 0;
#pragma unroll
      for (int eight = 0; eight < kBlockKeys / 8; ++eight) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[eight][i] = exp2_fast(fmaf(scores[eight][i], scale, -measure));
          total += scores[eight][i];
        }
      }
      rows_[tile][half].total += total;
    }
  }

  /// Rescales the row's sums to its new maximum, and returns the reference for its scores.
  __device__ float raise_maximum(int tile, int half, float greatest) {
    Statistics& row = rows_[tile][half];
    if (__any_sync(kAllLanes, greatest > row.maximum)) {
      const float maximum = fmaxf(row.maximum, greatest);
      const float factor = weight_of(row.maximum, maximum);
      row = {maximum, row.total * factor};
#pragma unroll
      for (auto& sums : sums_[tile]) {
        sums[2 * half] *= factor;
        sums[2 * half + 1] *= factor;
      }
    }
    // All may be -inf; their difference to themselves would be no number.
    return row.maximum == minus_infinity() ? 0.0F : row.maximum;
  }

  __device__ void write_result(int tile, int half, std::int32_t row, float scale) const {
    const std::int64_t to = unit_.step_row(row);
    const std::int64_t column = std::int64_t{unit_.head(row)} * kHeadSize + lane_ % 4 * 2;
#pragma unroll
    for (int d = 0; d < kHeadSize / 8; ++d) {
      const float low = sums_[tile][d][2 * half] * scale;
      const float high = sums_[tile][d][2 * half + 1] * scale;
      store_pair_out(params_, to, column + d * 8, low, high);
    }
  }

  __device__ void write_part(int tile, int half, std::int32_t row, Statistics all) const {
    const CudaAttentionItem& item = unit_.item;
    const std::int32_t slot = item.first_slot + item.part * item.tokens + unit_.token(row);
    const std::int32_t head = unit_.head(row);
    float* to = slot_sums(params_, slot, head) + lane_ % 4 * 2;
#pragma unroll
    for (int d = 0; d < kHeadSize / 8; ++d) {
      *reinterpret_cast<float2*>(to + d * 8) = {sums_[tile][d][2 * half],
                                                sums_[tile][d][2 * half + 1]};
    }
    if (lane_ % 4 == 0) *slot_statistics(params_, slot, head) = all;
  }

  const CudaAttentionParams& params_;
  const Unit& unit_;
  int lane_ = static_cast<int>(threadIdx.x) % kWarpLanes;
  std::int32_t first_;
  std::uint32_t queries_;
  bool is_plain_;
  float sums_[kTiles][kHeadSize / 8][4] = {};
  Statistics rows_[kTiles][2];
};

/// Computes as many rows of a unit as the block has, from row `first` on.
template <class Cache, class Block>
__device__ void attend_rows(const CudaAttentionParams& params, const Unit& unit, std::int32_t first,
                            unsigned char* memory) {
  constexpr int kHeadSize = Block::kHeadSize;
  const auto warp = static_cast<std::int32_t>(threadIdx.x) / kWarpLanes;
  const std::int32_t last = min(first + Block::kRows, unit.rows()) - 1;
  const PositionRange item{unit.item.begin, unit.item.end};
  const PositionRange of_first =
      common(visible_positions(params, unit.sequence, unit.position(first)), item);
  const PositionRange of_last =
      common(visible_positions(params, unit.sequence, unit.position(last)), item);
  const PositionRange positions{of_first.begin, of_last.end};

  const std::uint32_t queries = shared_address(memory);
  const std::uint32_t ring = queries + Block::kQueryBytes;
  const KeyFetcher<Cache, kHeadSize> fetcher(params, unit.sequence, unit.kv_head);
  const auto fetch = [&](std::uint32_t row, std::int32_t position, int stage) {
    const std::uint32_t to =
        ring + stage * Block::kStageBytes + warp * kTileKeys * kRowBytes<kHeadSize>;
    if (position < positions.end) fetcher.fetch(row, to, to + Block::kTileBytes);
    end_fetch_group();
  };
  const auto row_at = [&](std::int32_t position) {
    return fetcher.row(position + warp * kTileKeys, positions.end);
  };
  __syncthreads();
  fetch(row_at(positions.begin), positions.begin, 0);
  std::uint32_t next_row = row_at(positions.begin + kBlockKeys);
  load_queries<typename Cache::Number, Block>(params, unit, first, memory);

  RowWorker<typename Cache::Number, Block> worker(
      params, unit, first, queries + warp * Block::kWarpRows * kRowBytes<kHeadSize>);
  int stage = 0;
  for (std::int32_t position = positions.begin; position < positions.end; position += kBlockKeys) {
    wait_for_fetches<0>();
    __syncthreads();
    fetch(next_row, position + kBlockKeys, stage ^ 1);
    next_row = row_at(position + 2 * kBlockKeys);
    const std::uint32_t keys = ring + stage * Block::kStageBytes;
    const bool masked = position < of_last.begin || position + kBlockKeys > of_first.end;
    if (worker.has_rows()) worker.add(keys, keys + Block::kTileBytes, position, masked);
    stage ^= 1;
  }
  if (worker.has_rows()) worker.write();
}

/// Groups of four numbers that a thread loads at a time.
constexpr int kQuadsAtOnce = 8;

/// Computes the greatest score and the sum of weights over all parts, for each row of the unit.
__device__ void put_statistics_together(const CudaAttentionParams& params, const Unit& unit,
                                        Statistics* all) {
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  for (std::int32_t row = thread; row < unit.rows(); row += kThreads) {
    const PartialResults parts = parts_in_slots(params, unit.item, unit.token(row), unit.head(row));
    Statistics sum{minus_infinity(), 0};
#pragma unroll 4
    for (std::int32_t part = 0; part < parts.count; ++part) {
      const Statistics one = read_statistics(parts.statistics + part * parts.statistics_step);
      const float maximum = fmaxf(sum.maximum, one.maximum);
      sum.total =
          sum.total * weight_of(sum.maximum, maximum) + one.total * weight_of(one.maximum, maximum);
      sum.maximum = maximum;
    }
    all[row] = sum;
  }
}

/// Computes the results of all rows of a unit once the sums of all of its parts are in slots.
template <int kHeadSize>
__device__ void put_rows_together(const CudaAttentionParams& params, const Unit& unit,
                                  unsigned char* memory) {
  constexpr int kQuads = kHeadSize / 4;
  auto* all = reinterpret_cast<Statistics*>(memory);
  put_statistics_together(params, unit, all);
  __syncthreads();
  const std::int32_t quads = unit.rows() * kQuads;
  const PartialResults parts = parts_in_slots(params, unit.item, 0, 0);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  for (std::int32_t first = thread; first < quads; first += kThreads * kQuadsAtOnce) {
    std::int32_t row[kQuadsAtOnce];
    std::int32_t slot_head[kQuadsAtOnce];  // from the first part's slot on
    float4 sums[kQuadsAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kQuadsAtOnce; ++i) {
      row[i] = min(first + i * kThreads, quads - 1) / kQuads;
      slot_head[i] = unit.token(row[i]) * params.heads + unit.head(row[i]);
    }
    const auto column = [&](int i) { return (first + i * kThreads) % kQuads * 4; };
    for (std::int32_t part = 0; part < parts.count; ++part) {
      const float* from = parts.sums + part * parts.sums_step;
      const Statistics* statistics = parts.statistics + part * parts.statistics_step;
      float4 values[kQuadsAtOnce];
      float maxima[kQuadsAtOnce];
#pragma unroll
      for (int i = 0; i < kQuadsAtOnce; ++i) {
        values[i] = read_quad<false>(from + slot_head[i] * kHeadSize + column(i));
        maxima[i] = __ldcg(&statistics[slot_head[i]].maximum);
      }
#pragma unroll
      for (int i = 0; i < kQuadsAtOnce; ++i) {
        const float weight = weight_of(maxima[i], all[row[i]].maximum);
        sums[i].x = fmaf(values[i].x, weight, sums[i].x);
        sums[i].y = fmaf(values[i].y, weight, sums[i].y);
        sums[i].z = fmaf(values[i].z, weight, sums[i].z);
        sums[i].w = fmaf(values[i].w, weight, sums[i].w);
      }
    }
#pragma unroll
    for (int i = 0; i < kQuadsAtOnce; ++i) {
      if (first + i * kThreads >= quads) continue;
      const std::int32_t head = unit.head(row[i]);
      const float scale = final_scale(params, head, all[row[i]]);
      const std::int64_t to = unit.step_row(row[i]);
      const std::int64_t at = std::int64_t{head} * kHeadSize + column(i);
      store_pair_out(params, to, at, sums[i].x * scale, sums[i].y * scale);
      store_pair_out(params, to, at + 2, sums[i].z * scale, sums[i].w * scale);
    }
  }
  __syncthreads();
}

template <class Cache, class Block>
__device__ void attend_unit(const CudaAttentionParams& params, const Unit& unit, WorkQueue& queue,
                            unsigned char* memory) {
  for (std::int32_t row = 0; row < unit.rows(); row += Block::kRows) {
    attend_rows<Cache, Block>(params, unit, row, memory);
  }
  queue.claim();
  const CudaAttentionItem& item = unit.item;
  if (item.parts == 1) return;
  const std::int32_t counter = item.counter * params.kv.kv_heads + unit.kv_head;
  if (is_last_part(params, counter, item.parts)) {
    put_rows_together<Block::kHeadSize>(params, unit, memory);
  }
}

template <class Cache, class Block>
__global__ void __launch_bounds__(kThreads, Block::kHeadSize <= 128 ? 2 : 1)
    prefill_kernel(const __grid_constant__ CudaAttentionParams params) {
  WEFT_DYNAMIC_SHARED(__align__(16) unsigned char, memory);
  let_successor_start();
  wait_for_predecessor();
  const std::int32_t kv_heads = params.kv.kv_heads;
  const auto units = static_cast<std::uint32_t>(*params.item_count * kv_heads);
  for (WorkQueue queue(params.workspace, units); queue.has_unit(); queue.advance()) {
    const CudaAttentionItem item = params.items[queue.unit() / kv_heads];
    const Unit unit{item, params.spans.sequences[item.sequence], queue.unit() % kv_heads,
                    params.heads / kv_heads};
    attend_unit<Cache, Block>(params, unit, queue, memory);
  }
}

template <class Cache, int kHeadSize, int kTiles = row_tiles_of(kHeadSize)>
Status launch_prefill(const CudaAttentionParams& params, Stream stream) {
  using Block = Block<kHeadSize, kTiles>;
  constexpr std::size_t kBytes = Block::kBytes;
  bool fits = false;
  if (const Status status = fits_shared(kBytes, fits); status != Status::kSuccess) return status;
  if (!fits) {
    if constexpr (kHeadSize == 128 && kTiles > 1) {
      return launch_prefill<Cache, kHeadSize, 1>(params, stream);
    } else {
      // sm_80 lacks 2 KB for heads of 256 numbers, consumer GPUs more.
      return attention_general(params, stream);
    }
  }
  dim3 grid;
  const Status status = persistent_grid(prefill_kernel<Cache, Block>, kThreads, kBytes,
                                        std::int64_t{params.max_items} * params.kv.kv_heads, grid);
  if (status != Status::kSuccess) return status;
  return launch(prefill_kernel<Cache, Block>, grid, dim3(kThreads), kBytes, stream, params);
}

}  // namespace

Status attention_prefill(const CudaAttentionParams& params, Stream stream) {
  return launch_for_cache(params.kv, [&]<class Cache, int kHeadSize>() {
    return launch_prefill<Cache, kHeadSize>(params, stream);
  });
}

}  // namespace weft::cuda
