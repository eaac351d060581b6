#include <cstdint>
#include <type_traits>

#include "weft/kernels/attention/attention_tile_cuda.cuh"
#include "weft/kernels/attention/attention_ways_cuda.h"
#include "weft/kernels/rotary/rotary_heads_cuda.cuh"

// Attention of one token a sequence over 16-bit KV, as fast as memory delivers keys and values.
// The heads that share a KV head are the rows of a tile, so each key is read once for all of them.
// Each warp takes 16 keys of its own at a time and keeps three or four such tiles in flight to
// shared memory. Warps wait for each other at the item's end only.
namespace weft::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;
static_assert(kDecodedHeads == kTileRows);

/// Two blocks on a multiprocessor keep 130 KB in flight, three times what hides the memory's
/// latency. With 256 numbers a head only one block fits, with half as much in flight, since sm_80
/// has 163 KB.
constexpr int stages_of(int head_size) { return head_size <= 80 ? 4 : head_size <= 128 ? 3 : 2; }
constexpr int kFewStages = 2;  // for heads of 128 numbers on GPUs whose blocks have 99 KB

/// The row stride of the warps' sums in shared memory, which replace the tiles at the end. The
/// gap of 8 keeps rows that are written together in different banks.
template <int kHeadSize>
constexpr int kSumsStride = kHeadSize + 8;

template <int kHeadSize, int kOf>
struct Ring {
  static constexpr int kStages = kOf;
  static constexpr int kTileBytes = kTileKeys * kRowBytes<kHeadSize>;
  static constexpr int kStageBytes = 2 * kTileBytes;  // keys, then values
  static constexpr int kWarpBytes = kStages * kStageBytes;
  static constexpr int kBytes = kWarps * kWarpBytes;
  static_assert(kWarps * kTileRows * kSumsStride<kHeadSize> * sizeof(float) <= kBytes);
};

/// Up to 16 heads of an item that share a KV head.
struct Unit {
  CudaAttentionItem item;
  DeviceSequence sequence;
  std::int32_t kv_head;
  std::int32_t first_head;
  std::int32_t rows;     // heads
  std::int32_t counter;  // index of the counter of finished parts

  __device__ std::int32_t position() const { return sequence.start + item.token; }
  __device__ std::int64_t row() const { return std::int64_t{sequence.first} + item.token; }
};

__device__ std::int32_t tiles_of(const CudaAttentionParams& params) {
  return (params.heads / params.kv.kv_heads + kTileRows - 1) / kTileRows;
}

__device__ Unit unit_of(const CudaAttentionParams& params, std::int32_t number) {
  const std::int32_t tiles = tiles_of(params);
  const std::int32_t group = params.heads / params.kv.kv_heads;
  const std::int32_t tile = number % tiles;
  const std::int32_t kv_head = number / tiles % params.kv.kv_heads;
  const CudaAttentionItem item = params.items[number / tiles / params.kv.kv_heads];
  return {.item = item,
          .sequence = params.spans.sequences[item.sequence],
          .kv_head = kv_head,
          .first_head = kv_head * group + tile * kTileRows,
          .rows = min(kTileRows, group - tile * kTileRows),
          .counter = (item.counter * params.kv.kv_heads + kv_head) * tiles + tile};
}

__device__ bool rotates(const CudaAttentionParams& params) {
  return params.rotary.qkv.data != nullptr;
}

/// Shared memory in which a block rotates a unit's heads: the queries, then a key and a value. It
/// follows the rings, so that keys of the cache can arrive meanwhile.
template <int kHeadSize>
class MadeHeads {
 public:
  /// Rows that a tile reads together are in different banks.
  static constexpr int kStride = kHeadSize + 8;

  static constexpr std::size_t bytes(std::int32_t queries, std::int32_t rotary_size) {
    return sizeof(float) * (static_cast<std::size_t>(queries + 2) * kStride +
                            static_cast<std::size_t>(rotary_size));
  }

  __device__ MadeHeads(const CudaAttentionParams& params, const Unit& unit, float* memory)
      : params_(params),
        unit_(unit),
        heads_(memory),
        angles_(memory + (unit.rows + 2) * kStride),
        cache_row_(rotates(params)
                       ? PageTable(params, unit.sequence, unit.kv_head).row(unit.position())
                       : 0U) {}

  /// Loads the angles, which were complete before the preceding kernel began.
  __device__ void load_angles() const {
    const int pairs = params_.rotary.spec.rotary_size / 2;
    const TokenAngles from = angles_of(params_.rotary, unit_.row());
    for (int i = static_cast<int>(threadIdx.x); i < pairs; i += kThreads) {
      angles_[i] = from.cosines[i];
      angles_[pairs + i] = from.sines[i];
    }
  }

  /// Rotates the queries, and stores the token's key and value if its position is in the item.
  /// All threads call it and see the result afterwards.
  __device__ void make() const {
    const CudaAttentionItem& item = unit_.item;
    const bool has_token = item.begin <= unit_.position() && unit_.position() < item.end;
    const bool stores = params_.rotary.kv.keys != nullptr && has_token;
    __syncthreads();
    const auto warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    for (int head = warp; head < unit_.rows + (stores ? 2 : 0); head += kWarps) make_one(head);
    __syncthreads();
  }

  [[nodiscard]] __device__ const float* queries() const { return heads_; }

 private:
  __device__ void make_one(int number) const {
    const CudaRotaryParams& rotary = params_.rotary;
    const int pairs = rotary.spec.rotary_size / 2;
    const int first_key = params_.heads;
    const int first_value = first_key + params_.kv.kv_heads;
    Section section{.count = 1};
    if (number < unit_.rows) {
      section.index = section.first = unit_.first_head + number;
      section.norm = &rotary.query_norm;
      section.turns = section.grows = true;
    } else {
      const bool is_key = number == unit_.rows;
      section.index = unit_.kv_head;
      section.first = (is_key ? first_key : first_value) + unit_.kv_head;
      section.norm = is_key ? &rotary.key_norm : &rotary.value_norm;
      section.turns = is_key;
      section.cache = is_key ? rotary.kv.keys : rotary.kv.values;
    }
    float* to = heads_ + number * kStride;
    TokenHeads(rotary, unit_.row(), {angles_, angles_ + pairs}, {0, 1}, to, nullptr).make(section);
    if (section.cache == nullptr) return;
    store_kv_row(rotary.kv.dtype, to, kHeadSize, section.cache, cache_row_,
                 static_cast<int>(threadIdx.x) % kWarpLanes);
  }

  const CudaAttentionParams& params_;
  const Unit& unit_;
  float* heads_;
  float* angles_;
  std::uint32_t cache_row_;
};

/// A unit's queries, one head every `stride` numbers.
struct Queries {
  const float* first;
  std::int32_t stride;
};

/// A warp's part of a tile's result: this lane's columns of rows l / 4 and l / 4 + 8.
template <int kHeadSize>
struct WarpSums {
  float values[kHeadSize / 8][4] = {};
  Statistics rows[2] = {{minus_infinity(), 0}, {minus_infinity(), 0}};

  template <int kHalf>
  __device__ void rescale(float factor) {
    rows[kHalf].total *= factor;
#pragma unroll
    for (auto& tile : values) {
      tile[2 * kHalf] *= factor;
      tile[2 * kHalf + 1] *= factor;
    }
  }
};

/// Computes scores and sums of one warp for the keys in shared memory.
template <class Number, int kHeadSize>
class TileWorker {
 public:
  __device__ TileWorker(const CudaAttentionParams& params, const Unit& unit, Queries queries,
                        bool unified)
      : shape_{{params, head_of(unit, 0)}, {params, head_of(unit, 1)}},
        position_(unit.position()),
        has_upper_half_(unit.rows > 8),
        unified_(unified),
        phi_(params.phi * kLog2E) {
    load_queries(queries, unit.rows);
    if (unified) sums_.rows[0].maximum = sums_.rows[1].maximum = phi_;
  }

  /// Adds a tile of keys and values from `position` on; positions from `end` on do not count.
  __device__ void add(std::uint32_t keys, std::uint32_t values, std::int32_t position,
                      std::int32_t end) {
    float weights[2][4] = {};
    multiply_keys(keys, weights);
    shape_scores<0>(weights, position, end);
    if (has_upper_half_) {
      shape_scores<1>(weights, position, end);
    } else {
      weights[0][2] = weights[0][3] = weights[1][2] = weights[1][3] = 0;
    }
    const std::uint32_t packed_weights[4] = {
        packed<Number>(weights[0][0], weights[0][1]), packed<Number>(weights[0][2], weights[0][3]),
        packed<Number>(weights[1][0], weights[1][1]), packed<Number>(weights[1][2], weights[1][3])};
    const std::uint32_t from = values + (lane_ % 16) * kRowBytes<kHeadSize> + lane_ / 16 * 16;
#pragma unroll
    for (int d = 0; d < kHeadSize / 16; ++d) {
      std::uint32_t tile[4];
      load_matrices_turned(tile, from + d * 32);
      multiply_add<Number>(sums_.values[2 * d], packed_weights, tile[0], tile[1]);
      multiply_add<Number>(sums_.values[2 * d + 1], packed_weights, tile[2], tile[3]);
    }
  }

  /// Returns the sums, after adding up each row's total over the lanes that share it.
  __device__ const WarpSums<kHeadSize>& finish() {
#pragma unroll
    for (Statistics& row : sums_.rows) {
      row.total += __shfl_xor_sync(kAllLanes, row.total, 1);
      row.total += __shfl_xor_sync(kAllLanes, row.total, 2);
    }
    return sums_;
  }

 private:
  __device__ static std::int32_t head_of(const Unit& unit, int half) {
    const auto row = static_cast<std::int32_t>(threadIdx.x) % kWarpLanes / 4 + half * 8;
    return unit.first_head + min(row, unit.rows - 1);
  }

  __device__ void load_queries(Queries queries, std::int32_t rows) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane_ / 4 + half * 8;
      const bool present = row < rows;
      const float* from = queries.first + min(row, rows - 1) * queries.stride + lane_ % 4 * 2;
#pragma unroll
      for (int d = 0; d < kHeadSize / 16; ++d) {
        float2 low{};
        float2 high{};
        if (present) {
          low = *reinterpret_cast<const float2*>(from + d * 16);
          high = *reinterpret_cast<const float2*>(from + d * 16 + 8);
        }
        queries_[d][half] = packed<Number>(low.x, low.y);
        queries_[d][half + 2] = packed<Number>(high.x, high.y);
      }
    }
  }

  /// Even and odd steps have separate sums, which halves the chain of products that depend on each
  /// other.
  __device__ void multiply_keys(std::uint32_t keys, float (&products)[2][4]) const {
    float odd[2][4] = {};
    const std::uint32_t from =
        keys + (lane_ / 16 * 8 + lane_ % 8) * kRowBytes<kHeadSize> + lane_ / 8 % 2 * 16;
#pragma unroll
    for (int d = 0; d < kHeadSize / 16; ++d) {
      std::uint32_t tile[4];
      load_matrices(tile, from + d * 32);
      auto& to = d % 2 == 0 ? products : odd;
      multiply_add<Number>(to[0], queries_[d], tile[0], tile[1]);
      multiply_add<Number>(to[1], queries_[d], tile[2], tile[3]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) products[i / 4][i % 4] += odd[i / 4][i % 4];
  }

  /// Turns a row's four products into weights relative to phi or to the greatest score so far.
  template <int kHalf>
  __device__ void shape_scores(float (&weights)[2][4], std::int32_t position, std::int32_t end) {
    float scores[4];
    float greatest = minus_infinity();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int32_t key = position + i / 2 * 8 + lane_ % 4 * 2 + i % 2;
      const float product = weights[i / 2][i % 2 + 2 * kHalf];
      scores[i] = key < end ? shape_[kHalf](product, key - position_) : minus_infinity();
      greatest = fmaxf(greatest, scores[i]);
    }
    const float measure = unified_ ? phi_ : new_maximum<kHalf>(greatest);
    float total = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float weight = exp2_fast(scores[i] - measure);
      total += weight;
      weights[i / 2][i % 2 + 2 * kHalf] = weight;
    }
    sums_.rows[kHalf].total += total;
  }

  /// Raises the row's maximum to these scores, rescales its sums, and returns the new reference.
  template <int kHalf>
  __device__ float new_maximum(float greatest) {
    greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, 1));
    greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, 2));
    const float before = sums_.rows[kHalf].maximum;
    if (__any_sync(kAllLanes, greatest > before)) {
      const float maximum = fmaxf(before, greatest);
      sums_.template rescale<kHalf>(weight_of(before, maximum));
      sums_.rows[kHalf].maximum = maximum;
    }
    const float measure = sums_.rows[kHalf].maximum;
    // All scores may be -inf; -inf minus -inf would be NaN.
    return measure == minus_infinity() ? 0.0F : measure;
  }

  int lane_ = static_cast<int>(threadIdx.x) % kWarpLanes;
  ScoreShaper shape_[2];
  std::int32_t position_;
  bool has_upper_half_;
  bool unified_;
  float phi_;
  std::uint32_t queries_[kHeadSize / 16][4];
  WarpSums<kHeadSize> sums_;
};

/// The block's shared memory beside the rings.
struct Shared {
  Statistics statistics[kWarps][kTileRows];
  std::uint32_t out_of_range;  // a bit for each row
};

/// Which computation of a unit this is.
struct Turn {
  bool is_first;  ///< the block's first unit: it may begin before the preceding kernel ends
  bool is_again;  ///< unified softmax failed, so the unit is computed with the maximum
};

/// Computes this warp's share of the positions, and writes its sums to shared memory for finish().
/// Keys and values of earlier tokens can be read before the preceding kernel ends.
template <class Cache, int kHeadSize, int kStages>
__device__ void attend(const CudaAttentionParams& params, const Unit& unit, PositionRange positions,
                       bool unified, Turn turn, WorkQueue& queue, unsigned char* memory,
                       Shared& shared) {
  using Ring = Ring<kHeadSize, kStages>;
  constexpr int kStep = kWarps * kTileKeys;
  const auto lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const auto warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const std::uint32_t ring = shared_address(memory) + warp * Ring::kWarpBytes;
  const KeyFetcher<Cache, kHeadSize> fetcher(params, unit.sequence, unit.kv_head);
  std::int32_t position = positions.begin + warp * kTileKeys;
  const auto fetch = [&](std::uint32_t row, std::int32_t at, int stage) {
    const std::uint32_t to = ring + stage * Ring::kStageBytes;
    if (at < positions.end) fetcher.fetch(row, to, to + Ring::kTileBytes);
    end_fetch_group();
  };
  const bool makes = rotates(params) && !turn.is_again;
  const bool begins_early = turn.is_first || makes;
  const auto begin_ring = [&](bool early) {
#pragma unroll
    for (int stage = 0; stage + 1 < Ring::kStages; ++stage) {
      const std::int32_t at = position + stage * kStep;
      // Rows of a later stage never come earlier, so fetch groups stay in order.
      const bool is_early = begins_early && at + kTileKeys <= unit.position();
      if (is_early == early) fetch(fetcher.row(at, positions.end), at, stage);
    }
  };
  const MadeHeads<kHeadSize> made(params, unit, reinterpret_cast<float*>(memory + Ring::kBytes));
  if (makes) made.load_angles();
  begin_ring(true);
  if (turn.is_first) wait_for_predecessor();
  if (makes) made.make();
  begin_ring(false);
  constexpr int kAhead = (Ring::kStages - 1) * kStep;
  std::uint32_t next_row = fetcher.row(position + kAhead, positions.end);
  const Queries queries = rotates(params)
                              ? Queries{made.queries(), MadeHeads<kHeadSize>::kStride}
                              : Queries{query_of(params, unit.row(), unit.first_head), kHeadSize};
  TileWorker<typename Cache::Number, kHeadSize> worker(params, unit, queries, unified);
  int stage = 0;
  for (; position < positions.end; position += kStep) {
    wait_for_fetches<Ring::kStages - 2>();
    __syncwarp();
    fetch(next_row, position + kAhead, stage == 0 ? Ring::kStages - 1 : stage - 1);
    next_row = fetcher.row(position + kAhead + kStep, positions.end);
    const std::uint32_t keys = ring + stage * Ring::kStageBytes;
    worker.add(keys, keys + Ring::kTileBytes, position, positions.end);
    stage = stage + 1 == Ring::kStages ? 0 : stage + 1;
  }
  queue.claim();
  wait_for_fetches<0>();
  const WarpSums<kHeadSize>& sums = worker.finish();
  __syncthreads();
  auto* to =
      reinterpret_cast<float*>(memory) + warp * kTileRows * kSumsStride<kHeadSize> + lane % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + half * 8;
    if (row >= unit.rows) continue;
    shared.statistics[warp][row] = sums.rows[half];
#pragma unroll
    for (int d = 0; d < kHeadSize / 8; ++d) {
      *reinterpret_cast<float2*>(to + row * kSumsStride<kHeadSize> + d * 8) = {
          sums.values[d][2 * half], sums.values[d][2 * half + 1]};
    }
  }
  __syncthreads();
}

template <int kHeadSize>
__device__ PartialResults parts_of_warps(const unsigned char* memory, const Shared& shared,
                                         std::int32_t row) {
  constexpr int kStride = kSumsStride<kHeadSize>;
  return {.sums = reinterpret_cast<const float*>(memory) + row * kStride,
          .statistics = &shared.statistics[0][row],
          .sums_step = kTileRows * kStride,
          .statistics_step = kTileRows,
          .count = kWarps};
}

/// Writes a row's result. Where the sum of the weights of unified-max softmax has left the range
/// (kUnifiedRange), marks the row instead, to be computed again.
template <int kHeadSize>
__device__ void write_or_mark(const CudaAttentionParams& params, const Unit& unit, std::int32_t row,
                              bool unified, const HeadSums<kHeadSize>& result, Shared& shared) {
  const bool in_range = fabsf(log2f(result.all.total)) <= kUnifiedRange * kLog2E;
  if (!unified || in_range) {
    write_result(params, unit.row(), unit.first_head + row, result);
  } else if (threadIdx.x % kWarpLanes == 0) {
    atomicOr(&shared.out_of_range, 1U << row);
  }
}

/// Adds up the warps' sums. If this item finishes last, adds up all parts of its tokens. Marks rows
/// in which unified softmax left its range.
template <int kHeadSize>
__device__ void finish(const CudaAttentionParams& params, const Unit& unit, bool unified,
                       const unsigned char* memory, Shared& shared) {
  const auto warp = static_cast<std::int32_t>(threadIdx.x) / kWarpLanes;
  const CudaAttentionItem& item = unit.item;
  for (std::int32_t row = warp; row < unit.rows; row += kWarps) {
    const auto result =
        put_together<kHeadSize, true>(parts_of_warps<kHeadSize>(memory, shared, row));
    if (item.parts == 1) {
      write_or_mark(params, unit, row, unified, result, shared);
    } else {
      write_slot(params, item.first_slot + item.part * item.tokens, unit.first_head + row, result);
    }
  }
  if (item.parts == 1 || !is_last_part(params, unit.counter, item.parts)) return;
  for (std::int32_t row = warp; row < unit.rows; row += kWarps) {
    const auto result =
        put_together<kHeadSize, false>(parts_in_slots(params, item, 0, unit.first_head + row));
    write_or_mark(params, unit, row, unified, result, shared);
  }
}

/// Writes the rows that have been computed again.
template <int kHeadSize>
__device__ void rewrite(const CudaAttentionParams& params, const Unit& unit, std::uint32_t rows,
                        const unsigned char* memory, const Shared& shared) {
  const auto warp = static_cast<std::int32_t>(threadIdx.x) / kWarpLanes;
  for (std::int32_t row = warp; row < unit.rows; row += kWarps) {
    if ((rows >> row & 1U) == 0) continue;
    write_result(params, unit.row(), unit.first_head + row,
                 put_together<kHeadSize, true>(parts_of_warps<kHeadSize>(memory, shared, row)));
  }
}

template <class Cache, int kHeadSize, int kStages>
__device__ void attend_unit(const CudaAttentionParams& params, const Unit& unit, bool is_first,
                            WorkQueue& queue, unsigned char* memory, Shared& shared) {
  const PositionRange visible = visible_positions(params, unit.sequence, unit.position());
  PositionRange positions = common(visible, {unit.item.begin, unit.item.end});
  // f16 cannot hold weights up to e^60, so only bf16 uses unified softmax.
  bool unified =
      params.unified && std::is_same_v<typename Cache::Number, __nv_bfloat16> && !visible.empty();
  std::uint32_t rows = 0;
  while (true) {
    if (threadIdx.x == 0) shared.out_of_range = 0;
    const Turn turn{.is_first = is_first && rows == 0, .is_again = rows != 0};
    attend<Cache, kHeadSize, kStages>(params, unit, positions, unified, turn, queue, memory,
                                      shared);
    if (rows == 0) {
      finish<kHeadSize>(params, unit, unified, memory, shared);
    } else {
      rewrite<kHeadSize>(params, unit, rows, memory, shared);
    }
    __syncthreads();
    rows = shared.out_of_range;
    __syncthreads();
    if (rows == 0) return;
    // Compute again with the maximum, this block alone over the whole context: this is rare.
    positions = visible;
    unified = false;
    if (threadIdx.x == 0 && params.recomputed != nullptr) {
      atomicAdd(params.recomputed, static_cast<std::uint32_t>(__popc(rows)));
    }
  }
}

template <class Cache, int kHeadSize, int kStages>
__global__ void __launch_bounds__(kThreads, kHeadSize <= 128 ? 2 : 1)
    decode_kernel(const __grid_constant__ CudaAttentionParams params) {
  WEFT_DYNAMIC_SHARED(__align__(16) unsigned char, memory);
  __shared__ Shared shared;
  let_successor_start();
  const std::int32_t units = *params.item_count * params.kv.kv_heads * tiles_of(params);
  WorkQueue queue(params.workspace, static_cast<std::uint32_t>(units));
  // A block without units waits: a kernel that ends early would let its successor start too soon.
  if (!queue.has_unit()) wait_for_predecessor();
  for (; queue.has_unit(); queue.advance()) {
    const bool is_first = queue.unit() == static_cast<std::int32_t>(blockIdx.x);
    attend_unit<Cache, kHeadSize, kStages>(params, unit_of(params, queue.unit()), is_first, queue,
                                           memory, shared);
  }
}

Status launch_general(CudaAttentionParams params, Stream stream) {
  if (params.rotary.qkv.data != nullptr) {
    const Status status = rotate_and_store(params.rotary, stream);
    if (status != Status::kSuccess) return status;
    params.rotary = {};
  }
  return attention_general(params, stream);
}

/// Launches the kernel with `kStages` stages in its rings, or with fewer if a block has too little
/// shared memory.
template <class Cache, int kHeadSize, int kStages = stages_of(kHeadSize)>
Status launch_decode(const CudaAttentionParams& params, Stream stream) {
  std::size_t bytes = Ring<kHeadSize, kStages>::kBytes;
  if (params.rotary.qkv.data != nullptr) {
    bytes += MadeHeads<kHeadSize>::bytes(params.heads / params.kv.kv_heads,
                                         params.rotary.spec.rotary_size);
  }
  constexpr std::size_t kMostBytes =
      Ring<kHeadSize, kStages>::kBytes + MadeHeads<kHeadSize>::bytes(kDecodedHeads, kHeadSize);
  bool fits = false;
  bool most_fits = false;
  if (const Status status = fits_shared(bytes, fits); status != Status::kSuccess) return status;
  if (const Status status = fits_shared(kMostBytes, most_fits); status != Status::kSuccess) {
    return status;
  }
  if (!fits) {
    if constexpr (kHeadSize == 128 && kStages > kFewStages) {
      return launch_decode<Cache, kHeadSize, kFewStages>(params, stream);
    } else {
      return launch_general(params, stream);  // consumer GPUs, for heads of 256 numbers
    }
  }
  const std::int64_t group = params.heads / params.kv.kv_heads;
  const std::int64_t units =
      std::int64_t{params.max_items} * params.kv.kv_heads * ((group + kTileRows - 1) / kTileRows);
  dim3 grid;
  const Status status = persistent_grid(decode_kernel<Cache, kHeadSize, kStages>, kThreads, bytes,
                                        units, grid, most_fits ? kMostBytes : bytes);
  if (status != Status::kSuccess) return status;
  return launch(decode_kernel<Cache, kHeadSize, kStages>, grid, dim3(kThreads), bytes, stream,
                params);
}

}  // namespace

Status attention_decode(const CudaAttentionParams& params, Stream stream) {
  return launch_for_cache(params.kv, [&]<class Cache, int kHeadSize>() {
    return launch_decode<Cache, kHeadSize>(params, stream);
  });
}

}  // namespace weft::cuda
