#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/adapter/adapter_task_cuda.cuh"
#include "weft/kernels/linear/linear_cut_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// B (A x), which adapters add to a product's sums (adapter_expand.h), computed by warps beside
/// those that multiply, while weights stream. A x is there before: to compute it here as well, as
/// blocks that wait for one another, took longer than a launch, since every access to memory waits
/// behind the weights that are on their way (docs/performance.md).
namespace weft::cuda {

/// ProductAdapters and what they need of their product; goes into kernels by value.
struct AdapterWork {
  AdapterWork() = default;
  explicit AdapterWork(const CudaLinearParams& params)
      : of(params.adapters),
        rows(params.rows),
        outputs(params.weight.outputs),
        gated(params.weight.gated) {}

  __host__ __device__ bool is_there() const { return of.tasks.tasks != nullptr; }
  __device__ std::int64_t width() const { return std::int64_t{of.sites} * of.rank; }

  ProductAdapters of{};
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
  bool gated = false;
};

/// Rows of a tile whose outputs are of one run: gates and ups are apart.
constexpr int kAdaptedRows = 64;
constexpr int kAdaptedPanels = kAdaptedRows / static_cast<int>(kAdapterPanel);

constexpr int kAdapterBarrier = 5;  // of the warps that compute adapters, by meet()

/// Shared memory of a block, behind the product's own. What is added lies as the product stages its
/// own sums, by groups of kOfGroup rows.
template <int kOf, int kOfGroup>
struct AdapterRoom {
  static constexpr int kTokens = kOf;
  static constexpr int kGroupRows = kOfGroup;
  static constexpr int kGroups = 2 * kAdaptedRows / kGroupRows;
  static constexpr int kStride = kGroupRows + 4;  // no two lanes write to one bank

  __device__ void init(int finishers) {
    init_barrier(&full, 1);
    init_barrier(&empty, static_cast<unsigned>(finishers));
  }
  __device__ float& at(int token, int row) {
    return added[row / kGroupRows][token][row % kGroupRows];
  }

  Barrier full;                              ///< what is added to the tile is there
  Barrier empty;                             ///< all `finishers` warps have read it
  float4 low[2][kTokens][kAdapterTile / 4];  ///< by half of a tile: A x of a tile of ranks
  float added[kGroups][kTokens][kStride];
  /// What does not change in a step, by task.
  CudaAdapterTask tasks[kTokens];
  CudaAdapterPair pairs[kTokens][kMaxProductAdapterSites];
  std::int32_t rows[kTokens];
};

/// The other side of an AdapterRoom: what a thread that finishes tiles adds to their sums.
template <class Room>
class AddedSums {
 public:
  /// `room` is null where the product has no adapters.
  __device__ explicit AddedSums(Room* room) : room_(room) {}

  /// Before sums of the next tile are read.
  __device__ void wait() {
    if (room_ != nullptr) weft::cuda::wait(&room_->full, parity_);
  }
  /// -0 leaves a sum as it is.
  [[nodiscard]] __device__ float of(int token, int row) const {
    return room_ == nullptr ? -0.0F : room_->at(token, row);
  }
  /// Once all of a warp's lanes have read the tile's sums.
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

/// Of products that no adapter changes.
struct NothingAdded {
  __device__ void wait() {}
  [[nodiscard]] __device__ float of(int /*token*/, int /*row*/) const { return -0.0F; }
  __device__ void release() {}
};

__device__ inline float4 plus(const float4& a, const float4& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

/// The warps of a block that compute all adapters' part of a product.
template <int kWarps, int kGateDistance, class Room>
class AdapterWarps {
 public:
  /// `warp` is the caller's number among the warps.
  __device__ AdapterWarps(const AdapterWork& work, const Cut& cut, Room& room, int warp)
      : work_(work),
        cut_(cut),
        room_(room),
        warp_(warp),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        tasks_(min(*work.of.tasks.count, Room::kTokens)) {}

  __device__ void run() {
    load_tables();
    const unsigned begin = first_of(cut_, blockIdx.x);
    const unsigned end = first_of(cut_, blockIdx.x + 1);
    const unsigned part_of = begin / cut_.tile_units;
    const unsigned first = finishes(cut_, part_of) ? part_of : part_of + 1;
    for (unsigned tile = first; tile * cut_.tile_units < end; ++tile) prefetch(tile);
    wait_for_predecessor();
    unsigned parity = 1;
    for (unsigned tile = first; tile * cut_.tile_units < end; ++tile) {
      wait(&room_.empty, parity);
      parity ^= 1U;
      expand(tile);
      meet_warps();
      if (is_first()) arrive(&room_.full);
    }
  }

 private:
  static constexpr int kThreads = kWarps * kWarp;

  /// A half of a tile: outputs of one run, or none.
  struct Half {
    const AdapterRun* run = nullptr;
    int site = 0;         ///< among those of the product's input
    int first_panel = 0;  ///< of the run's

    [[nodiscard]] __device__ bool has_panel(int panel) const {
      return run != nullptr && first_panel + panel < run->panels();
    }
  };

  [[nodiscard]] __device__ int thread() const { return warp_ * kWarp + lane_; }
  [[nodiscard]] __device__ bool is_first() const { return warp_ == 0 && lane_ == 0; }

  __device__ void meet_warps() const {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      meet(kAdapterBarrier, kThreads);
    }
  }

  /// Brings what is looked up again and again to shared memory.
  __device__ void load_tables() const {
    for (int i = thread(); i < tasks_ * work_.of.sites; i += kThreads) {
      const int site = i % work_.of.sites;
      const CudaAdapterTask task = work_.of.tasks.tasks[i / work_.of.sites];
      if (site == 0) room_.tasks[i / work_.of.sites] = task;
      room_.pairs[i / work_.of.sites][site] =
          adapter_pair(work_.of.places, task, work_.of.first_site + site);
    }
    for (int i = thread(); i < min(static_cast<int>(work_.rows), Room::kTokens); i += kThreads)
      room_.rows[i] = work_.of.tasks.rows[i];
    meet_warps();
  }

  [[nodiscard]] __device__ Half half_of(unsigned tile, int half) const {
    const std::int64_t own = std::int64_t{tile} * (work_.gated ? 1 : 2) * kAdaptedRows +
                             (work_.gated ? 0 : half * kAdaptedRows);
    Half of;
    if (own >= work_.outputs) return of;
    const std::int64_t output = work_.gated && half == 1 ? work_.outputs + own : own;
    for (int i = 0; i < work_.of.run_count; ++i) {
      const AdapterRun& run = work_.of.runs[i];
      if (output < run.first_output || output >= run.first_output + run.outputs) continue;
      of.run = &run;
      of.site = run.site - work_.of.first_site;
      of.first_panel = static_cast<int>((output - run.first_output) / kAdapterPanel);
    }
    return of;
  }

  /// A lane's first vector of B for a half.
  [[nodiscard]] __device__ const uint4* weights_of(const Half& half, int task) const {
    const CudaAdapterPair& pair = room_.pairs[task][half.site];
    const std::byte* place = adapter_place(work_.of.places, max(room_.tasks[task].place, 0));
    return reinterpret_cast<const uint4*>(place + pair.b) +
           (half.run->first_panel + half.first_panel) * pair.tiles * kWarp + lane_;
  }

  /// Asks for all tasks' numbers of B.
  __device__ void prefetch(unsigned tile) const {
    constexpr int kLine = 128 / sizeof(uint4);
    for (int half = 0; half < 2; ++half) {
      const Half of = half_of(tile, half);
      for (int task = warp_; task < tasks_ && of.run != nullptr; task += kWarps) {
        const int tiles = room_.pairs[task][of.site].tiles;
        const uint4* weights = weights_of(of, task);
        for (int i = 0; i < kAdaptedPanels * tiles; ++i) {
          if (lane_ % kLine == 0 && of.has_panel(i / tiles)) prefetch_line(weights + i * kWarp);
        }
      }
    }
  }

  /// The step's row that a lane has of a task.
  [[nodiscard]] __device__ std::int64_t row_of(const CudaAdapterTask& task, int i) const {
    return room_.rows[task.first + lane_ / 4 + 8 * i];
  }

  /// Puts what all tasks add to a tile into its room.
  __device__ void expand(unsigned tile) const {
    const Half halves[2] = {half_of(tile, 0), half_of(tile, 1)};
    const int tiles = work_.of.rank / static_cast<int>(kAdapterTile);
    for (int ranks = 0; ranks < tiles; ++ranks) {
      if (ranks > 0) meet_warps();  // all have read the ranks before
      add_slices(halves, ranks);
      meet_warps();
      for (int task = warp_; task < tasks_; task += kWarps) expand_task(halves, task, ranks);
    }
  }

  /// The total of all slices in their order, of all rows that have these ranks; others' is not
  /// read.
  __device__ void add_slices(const Half (&halves)[2], int ranks) const {
    constexpr int kFours = static_cast<int>(kAdapterTile) / 4;
    const std::int64_t stride = work_.rows * work_.width();
    const int count = static_cast<int>(work_.rows) * kFours;
    for (int i = thread(); i < 2 * count; i += kThreads) {
      const Half& half = i < count ? halves[0] : halves[1];
      if (half.run == nullptr) continue;
      const int row = i % count / kFours;
      const float* from = work_.of.sums + row * work_.width() + half.run->low +
                          ranks * kAdapterTile + i % kFours * 4;
      float4 sum = {};
#pragma unroll 16
      for (int slice = 0; slice < work_.of.slices; ++slice)
        sum = plus(sum, __ldcg(reinterpret_cast<const float4*>(from + slice * stride)));
      room_.low[i < count ? 0 : 1][row][i % kFours] = sum;
    }
  }

  __device__ void expand_task(const Half (&halves)[2], int number, int ranks) const {
    const CudaAdapterTask task = room_.tasks[number];
    uint4 weights[2][kAdaptedPanels] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Half& of = halves[half];
      if (of.run == nullptr || ranks >= room_.pairs[number][of.site].tiles) continue;
      const uint4* from = weights_of(of, number) + ranks * kWarp;
#pragma unroll
      for (int i = 0; i < kAdaptedPanels; ++i) {
        if (of.has_panel(i))
          weights[half][i] = from[i * room_.pairs[number][of.site].tiles * kWarp];
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Half& of = halves[half];
      if (of.run == nullptr) continue;
      const bool has_ranks = ranks < room_.pairs[number][of.site].tiles;
      if (!has_ranks && ranks > 0) continue;
      LowRows<kFewParts> low{};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (!has_ranks || lane_ / 4 + 8 * i >= task.count) continue;
        const float4 four = room_.low[half][row_of(task, i)][lane_ % 4];
        low.put(i, {four.x, four.y});
        low.put(2 + i, {four.z, four.w});
      }
#pragma unroll
      for (int i = 0; i < kAdaptedPanels; ++i) {
        float sums[2][4] = {};
        if (has_ranks) add_panel(sums, low, weights[half][i]);
        put(task, half, i, sums, has_ranks, ranks > 0);
      }
    }
  }

  /// Writes a panel's sums, or adds them to what is there; -0 where there are none, which leaves a
  /// sum as it is.
  __device__ void put(const CudaAdapterTask& task, int half, int panel, const float (&sums)[2][4],
                      bool are_there, bool adds) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (lane_ / 4 + 8 * i >= task.count) continue;
      const auto token = static_cast<int>(row_of(task, i));
#pragma unroll
      for (int eight = 0; eight < 2; ++eight) {
        const int row = tile_row(half, panel * static_cast<int>(kAdapterPanel) + eight * 8);
        float* to = &room_.at(token, row + lane_ % 4 * 2);
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          const float sum = are_there ? sums[eight][2 * i + s] : -0.0F;
          to[s] = adds ? to[s] + sum : sum;
        }
      }
    }
  }

  /// Where eight outputs of a half stand among the tile's rows.
  [[nodiscard]] __device__ int tile_row(int half, int own) const {
    if (!work_.gated) return half * kAdaptedRows + own;
    return own / kGateDistance * 2 * kGateDistance + own % kGateDistance + half * kGateDistance;
  }

  const AdapterWork& work_;
  const Cut& cut_;
  Room& room_;
  const int warp_;
  const int lane_;
  const int tasks_;
};

/// The work of a block's warp `warp` of kWarps.
template <int kWarps, int kGateDistance, class Room>
__device__ void add_adapters(const AdapterWork& work, const Cut& cut, Room& room, int warp) {
  AdapterWarps<kWarps, kGateDistance, Room>(work, cut, room, warp).run();
}

}  // namespace weft::cuda
