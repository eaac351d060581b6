#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/adapter/adapter_task_cuda.cuh"
#include "weft/kernels/linear/linear_cut_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// Computes what adapters add to a product's sums (adapter_shrink.h, adapter_expand.h). Extra warps
/// of each block do this beside the warps that multiply, while weights stream. The extra warps of
/// all blocks compute slices of A x and wait for one another. Then each block adds B (A x) to the
/// tiles that it finishes. Waiting is safe, because a launch has only as many blocks as run at
/// once. The number of slices does not depend on the rows, so a row's bits do not depend on the
/// other rows.
namespace weft::cuda {

/// ProductAdapters and the sizes of their product; kernels take it by value.
struct AdapterWork {
  AdapterWork() = default;
  explicit AdapterWork(const CudaLinearParams& params)
      : of(params.adapters),
        in(params.in),
        rows(params.rows),
        outputs(params.weight.outputs),
        gated(params.weight.gated),
        slices(product_adapter_slices(params.weight.inputs)) {}

  __host__ __device__ bool is_there() const { return of.tasks.tasks != nullptr; }
  __device__ int columns() const { return of.sites * of.rank / static_cast<int>(kAdapterTile); }
  __device__ std::int64_t width() const { return std::int64_t{of.sites} * of.rank; }

  ProductAdapters of{};
  DeviceRows in{};
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
  bool gated = false;
  std::int32_t slices = 1;
};

/// Rows of a tile that are computed for a task at once: half a tile, so that gates and ups are
/// separate.
constexpr int kAdaptedRows = 64;
constexpr int kAdaptedPanels = kAdaptedRows / static_cast<int>(kAdapterPanel);

/// Shared memory of a block for the adapters' sums, after the product's own. The sums lie like the
/// product's staged sums, in groups of kGroupRows rows; `finishers` warps read them.
template <int kTokens, int kOfGroup>
struct AdapterRoom {
  static constexpr int kGroupRows = kOfGroup;
  static constexpr int kGroups = 2 * kAdaptedRows / kGroupRows;
  static constexpr int kStride = kGroupRows + 4;  // no two lanes write to one bank

  __device__ void init(int warps, int finishers) {
    init_barrier(&full, static_cast<unsigned>(warps));
    init_barrier(&empty, static_cast<unsigned>(finishers));
  }
  __device__ float& at(int token, int row) {
    return added[row / kGroupRows][token][row % kGroupRows];
  }

  Barrier full;   ///< the tile's sums are written
  Barrier empty;  ///< all finishers have read the sums
  float added[kGroups][kTokens][kStride];
};

/// Reads an AdapterRoom: the numbers that a thread adds to the sums of the tiles that it finishes.
template <class Room>
class AddedSums {
 public:
  /// `room` is null where the product has no adapters.
  __device__ explicit AddedSums(Room* room) : room_(room) {}

  /// Waits for the tile's sums. Call it before reading them.
  __device__ void wait() {
    if (room_ != nullptr) weft::cuda::wait(&room_->full, parity_);
  }
  /// Returns the number to add; -0, which keeps a sum, if there are no adapters.
  [[nodiscard]] __device__ float of(int token, int row) const {
    return room_ == nullptr ? -0.0F : room_->at(token, row);
  }
  /// Frees the tile's sums, after all of a warp's lanes have read them.
  __device__ void release() {
    if (room_ == nullptr) return;
    __syncwarp();
    if (threadIdx.x % kWarp == 0) arrive(&room_->empty);
    parity_ ^= 1U;
  }

 private:
  Room* room_;
  unsigned parity_ = 0;
};

/// Replaces AddedSums in products without adapters.
struct NothingAdded {
  __device__ void wait() {}
  [[nodiscard]] __device__ float of(int /*token*/, int /*row*/) const { return -0.0F; }
  __device__ void release() {}
};

/// Returns a lane's index in its warp.
__device__ inline int adapter_lane() { return static_cast<int>(threadIdx.x) % kWarp; }

/// Computes one slice of 16 ranks of a task.
__device__ inline void shrink_slice(const AdapterWork& work, int item) {
  constexpr int kAhead = 4;  // runs in flight; the first are fetched before the predecessor ends
  const int tiles = work.of.rank / static_cast<int>(kAdapterTile);
  const int slice = item % work.slices;
  const int column = item / work.slices % work.columns();
  const CudaAdapterTask task = work.of.tasks.tasks[item / work.slices / work.columns()];
  const CudaAdapterPair pair =
      adapter_pair(work.of.places, task, work.of.first_site + column / tiles);
  if (column % tiles >= pair.tiles) return;
  const int lane = adapter_lane();
  const int all = static_cast<int>(work.in.width / kAdapterInputRun);
  const int of_slice = (all + work.slices - 1) / work.slices;
  const int end = min(all, (slice + 1) * of_slice);
  const auto* weights =
      reinterpret_cast<const uint4*>(adapter_place(work.of.places, task.place) + pair.a) +
      std::int64_t{column % tiles} * all * 2 * kWarp + lane;
  const std::int32_t* rows = work.of.tasks.rows + task.first;
  const __nv_bfloat16* from[2] = {};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (lane / 4 + 8 * i < task.count)
      from[i] = static_cast<const __nv_bfloat16*>(work.in.data) +
                rows[lane / 4 + 8 * i] * work.in.stride + lane % 4 * 8;
  }
  float sums[2][4] = {};
  for (int first = slice * of_slice; first < end; first += kAhead) {
    RunWeights of[kAhead] = {};
    uint4 x[kAhead][2] = {};
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (first + i < end) of[i] = load_run_weights(weights, first + i);
    }
    wait_for_predecessor();
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (first + i < end && from[r] != nullptr)
          x[i][r] = *reinterpret_cast<const uint4*>(from[r] + (first + i) * kAdapterInputRun);
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) add_run(sums, x[i][0], x[i][1], of[i]);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (from[i] == nullptr) continue;
    float* to = work.of.sums + (slice * work.rows + rows[lane / 4 + 8 * i]) * work.width() +
                column * kAdapterTile + lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<float2*>(to + half * 8) = {pair.scale * sums[half][2 * i],
                                                   pair.scale * sums[half][2 * i + 1]};
    }
  }
}

/// Waits for `warps` warps of all blocks, and then sees what they have written. The counter need
/// not be zero: all warps together add half of its range, which flips its highest bit.
__device__ inline void meet_warps(unsigned* counter, unsigned warps, bool is_first) {
  constexpr unsigned kTop = 1U << 31U;
  __syncwarp();
  if (adapter_lane() == 0) {
    __threadfence();
    const unsigned before = atomicAdd(counter, is_first ? kTop - (warps - 1) : 1U);
    while (((read_acquiring(counter) ^ before) & kTop) == 0) {
    }
  }
  __syncwarp();
}

/// Half of a tile's rows for a task: outputs of one run, or no outputs.
struct AdaptedHalf {
  __device__ AdaptedHalf(const AdapterWork& work, unsigned tile, int part)
      : task(work.of.tasks.tasks[part / 2]), half(part % 2) {
    const std::int64_t own = std::int64_t{tile} * (work.gated ? kAdaptedRows : 2 * kAdaptedRows) +
                             (work.gated ? 0 : half * kAdaptedRows);
    if (own >= work.outputs) return;
    const std::int64_t output = work.gated && half == 1 ? work.outputs + own : own;
    for (int i = 0; i < work.of.run_count; ++i) {
      const AdapterRun& candidate = work.of.runs[i];
      if (output >= candidate.first_output && output < candidate.first_output + candidate.outputs)
        run = &candidate;
    }
    if (run == nullptr) return;
    pair = adapter_pair(work.of.places, task, run->site);
    first_panel = static_cast<int>((output - run->first_output) / kAdapterPanel);
    weights =
        reinterpret_cast<const uint4*>(adapter_place(work.of.places, max(task.place, 0)) + pair.b) +
        (run->first_panel + first_panel) * pair.tiles * kWarp + adapter_lane();
  }

  [[nodiscard]] __device__ bool has_panel(int panel) const {
    return first_panel + panel < run->panels();
  }
  /// Prefetches the numbers of B.
  __device__ void prefetch() const {
    constexpr int kLine = 128 / sizeof(uint4);
    if (run == nullptr || adapter_lane() % kLine != 0) return;
    for (int i = 0; i < kAdaptedPanels * pair.tiles; ++i) {
      if (has_panel(i / pair.tiles)) prefetch_line(weights + i * kWarp);
    }
  }
  /// Returns the index among the tile's rows of the first output of half a panel.
  template <int kGateDistance>
  [[nodiscard]] __device__ int row_of(bool gated, int panel, int eight) const {
    const int own = panel * static_cast<int>(kAdapterPanel) + eight * 8;
    if (!gated) return half * kAdaptedRows + own;
    return own / kGateDistance * 2 * kGateDistance + own % kGateDistance + half * kGateDistance;
  }

  CudaAdapterTask task;
  int half;
  const AdapterRun* run = nullptr;
  CudaAdapterPair pair{};
  int first_panel = 0;  ///< index among the run's panels
  const uint4* weights = nullptr;
};

__device__ inline float4 plus(const float4& a, const float4& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

/// Returns the total of all slices for 16 ranks from a column on, as operands of products. Slices
/// are added up in eight classes, by their index modulo 8, and then the classes as a tree. The
/// order is the same however lanes share the work.
__device__ inline LowRows<kFewParts> total_of_slices(const AdapterWork& work,
                                                     const CudaAdapterTask& task,
                                                     std::int64_t column) {
  constexpr int kRests = 8;
  const int lane = adapter_lane();
  const std::int64_t slice_stride = work.rows * work.width();
  const float* from = work.of.sums + column + lane % 4 * 4;
  const std::int32_t* rows = work.of.tasks.rows + task.first;
  const auto load = [&](int row, int slice) {
    return __ldcg(
        reinterpret_cast<const float4*>(from + rows[row] * work.width() + slice * slice_stride));
  };
  float4 own[2] = {};
  if (task.count == 1) {  // lanes without a row share the slices
#pragma unroll
    for (int i = 0; i < kMaxProductAdapterSlices / kRests; ++i) {
      const int slice = i * kRests + lane / 4;
      if (slice < work.slices) own[0] = plus(own[0], load(0, slice));
    }
#pragma unroll
    for (int step = 4; step < kWarp; step *= 2) {
      const float4 other = {__shfl_xor_sync(0xffffffffU, own[0].x, step),
                            __shfl_xor_sync(0xffffffffU, own[0].y, step),
                            __shfl_xor_sync(0xffffffffU, own[0].z, step),
                            __shfl_xor_sync(0xffffffffU, own[0].w, step)};
      own[0] = plus(own[0], other);
    }
    if (lane >= 4) own[0] = {};
  } else {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (lane / 4 + 8 * i >= task.count) continue;
      // Two passes leave registers for other loads in flight.
#pragma unroll
      for (int begin = 0; begin < kRests; begin += kRests / 2) {
        float4 rests[kRests / 2] = {};
#pragma unroll 2
        for (int first = begin; first < work.slices; first += kRests) {
#pragma unroll
          for (int r = 0; r < kRests / 2; ++r) {
            if (first + r < work.slices)
              rests[r] = plus(rests[r], load(lane / 4 + 8 * i, first + r));
          }
        }
        const float4 sum = plus(plus(rests[0], rests[1]), plus(rests[2], rests[3]));
        own[i] = begin == 0 ? sum : plus(own[i], sum);
      }
    }
  }
  LowRows<kFewParts> low;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    low.put(i, {own[i].x, own[i].y});
    low.put(2 + i, {own[i].z, own[i].w});
  }
  return low;
}

/// Writes what a task adds to half of a tile.
template <int kGateDistance, class Room>
__device__ void expand_half(const AdapterWork& work, const AdaptedHalf& of, Room& room) {
  if (of.run == nullptr) return;
  const int lane = adapter_lane();
  const std::int32_t* rows = work.of.tasks.rows + of.task.first;
  int tokens[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    tokens[i] = lane / 4 + 8 * i < of.task.count ? rows[lane / 4 + 8 * i] : -1;
  }
  for (int tile = 0; tile < max(of.pair.tiles, 1); ++tile) {
    const bool is_there = tile < of.pair.tiles;
    uint4 weights[kAdaptedPanels];
#pragma unroll
    for (int i = 0; i < kAdaptedPanels; ++i) {
      weights[i] = is_there && of.has_panel(i) ? of.weights[(i * of.pair.tiles + tile) * kWarp]
                                               : make_uint4(0, 0, 0, 0);
    }
    LowRows<kFewParts> low{};
    if (is_there) low = total_of_slices(work, of.task, of.run->low + tile * kAdapterTile);
#pragma unroll
    for (int i = 0; i < kAdaptedPanels; ++i) {
      float sums[2][4] = {};
      if (is_there) add_panel(sums, low, weights[i]);
#pragma unroll
      for (int eight = 0; eight < 2; ++eight) {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
          if (tokens[s / 2] < 0) continue;
          const int row = of.template row_of<kGateDistance>(work.gated, i, eight);
          float& to = room.at(tokens[s / 2], row + lane % 4 * 2 + s % 2);
          // Adding -0 keeps the product's sum.
          to = !is_there ? -0.0F : tile == 0 ? sums[eight][s] : to + sums[eight][s];
        }
      }
    }
  }
}

/// The work of one of a block's kWarps extra warps: the adapters' whole part of the product.
template <int kWarps, int kGateDistance, class Room>
__device__ void add_adapters(const AdapterWork& work, const Cut& cut, Room& room, int warp) {
  const unsigned begin = first_of(cut, blockIdx.x);
  const unsigned end = first_of(cut, blockIdx.x + 1);
  const int tasks = *work.of.tasks.count;
  const unsigned first_tile =
      begin / cut.tile_units + (finishes(cut, begin / cut.tile_units) ? 0 : 1);
  if (first_tile * cut.tile_units < end) {
    for (int part = warp; part < 2 * tasks; part += kWarps)
      AdaptedHalf(work, first_tile, part).prefetch();
  }
  const int items = tasks * work.columns() * work.slices;
  const int step = kWarps * static_cast<int>(gridDim.x);
  for (int item = warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x); item < items;
       item += step) {
    shrink_slice(work, item);
  }
  wait_for_predecessor();
  meet_warps(work.of.meeting, static_cast<unsigned>(step), blockIdx.x == 0 && warp == 0);
  unsigned parity = 1;
  for (unsigned tile = first_tile; tile * cut.tile_units < end; ++tile) {
    wait(&room.empty, parity);
    parity ^= 1U;
    for (int part = warp; part < 2 * tasks; part += kWarps)
      expand_half<kGateDistance>(work, AdaptedHalf(work, tile, part), room);
    __syncwarp();
    if (adapter_lane() == 0) arrive(&room.full);
  }
}

}  // namespace weft::cuda
