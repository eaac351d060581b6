#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_task_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// Computes B low with tensor cores, for tasks of up to 16 rows. A block has some panels of a run's
/// outputs. It fetches B's first tile of ranks before the predecessor ends.
namespace weft::cuda {
namespace {

constexpr int kExpandWarps = 4;
constexpr int kExpandThreads = kExpandWarps * kWarp;
constexpr int kPanels = 2;  // panels of a warp
constexpr int kBlockPanels = kExpandWarps * kPanels;
constexpr int kFours = kAdapterTaskRows * static_cast<int>(kAdapterTile) / 4;
constexpr int kSlicesAtOnce = kExpandThreads / kFours;

/// Sums by slice and by row, four ranks together.
using LowRoom = float4[kSlicesAtOnce][kFours];

/// The panels that a warp computes, and their run.
struct WarpPanels {
  __device__ explicit WarpPanels(const CudaAdapterExpandParams& params) {
    int left = static_cast<int>(blockIdx.x) * kBlockPanels;
    for (; run + 1 < params.run_count; ++run) {
      const auto padded = static_cast<int>((params.runs[run].panels() + kBlockPanels - 1) /
                                           kBlockPanels * kBlockPanels);
      if (left < padded) break;
      left -= padded;
    }
    first = left + static_cast<int>(threadIdx.x) / kWarp * kPanels;
  }
  int run = 0;
  int first = 0;
};

/// Returns the column of an output among the product's results.
__device__ inline std::int64_t column_of(const CudaAdapterExpandParams& params,
                                         std::int64_t output) {
  if (params.gates == 0) return output;
  return output < params.gates ? gate_row(output) : gate_row(output - params.gates) + kGateBlock;
}

/// The columns of two neighbouring outputs, of which `count` exist.
struct TwoColumns {
  __device__ float2 load(const float* row) const {
    if (is_pair(row)) return *reinterpret_cast<const float2*>(row + first);
    // Adding -0 keeps a sum.
    return {count > 0 ? row[first] : -0.0F, count > 1 ? row[second] : -0.0F};
  }
  __device__ void store(float* row, float2 two) const {
    if (is_pair(row)) {
      *reinterpret_cast<float2*>(row + first) = two;
      return;
    }
    if (count > 0) row[first] = two.x;
    if (count > 1) row[second] = two.y;
  }
  __device__ bool is_pair(const float* row) const {
    return count > 1 && second == first + 1 &&
           (reinterpret_cast<std::uintptr_t>(row + first) & 7U) == 0;
  }

  std::int64_t first;
  std::int64_t second;
  std::int64_t count;
};

/// Returns a lane's columns in a half of a panel.
__device__ TwoColumns columns_of_lane(const CudaAdapterExpandParams& params, const AdapterRun& run,
                                      int panel, int half) {
  const std::int64_t output = std::int64_t{panel} * kAdapterPanel + half * 8 + threadIdx.x % 4 * 2;
  const std::int64_t first = run.first_output + output;
  return {column_of(params, first), column_of(params, first + 1), run.outputs - output};
}

/// Returns a thread's part of the slices' total: four ranks of a row.
__device__ float4 add_slices(const CudaAdapterExpandParams& params, const float* from) {
  float4 sum = make_float4(0, 0, 0, 0);
  if (from == nullptr) return sum;
#pragma unroll 8
  for (int slice = static_cast<int>(threadIdx.x) / kFours; slice < params.slices;
       slice += kSlicesAtOnce) {
    const float4 more =
        *reinterpret_cast<const float4*>(from + slice * params.rows * params.sums_width);
    sum.x += more.x;
    sum.y += more.y;
    sum.z += more.z;
    sum.w += more.w;
  }
  return sum;
}

__device__ LowRows<kFloatParts> low_rows(const LowRoom& room, float scale) {
  LowRows<kFloatParts> low;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int four = (static_cast<int>(threadIdx.x) % kWarp / 4 + 8 * i) * 4 + threadIdx.x % 4;
    const float4 one = room[0][four];
    const float4 other = room[1][four];
    low.put(i, {scale * (one.x + other.x), scale * (one.y + other.y)});
    low.put(2 + i, {scale * (one.z + other.z), scale * (one.w + other.w)});
  }
  return low;
}
static_assert(kSlicesAtOnce == 2);

/// The sums of a warp's panels, indexed by half of the outputs, then by half of the rows.
struct PanelSums {
  __device__ void add(const LowRows<kFloatParts>& low, const uint4 (&weights)[kPanels]) {
#pragma unroll
    for (int i = 0; i < kPanels; ++i) add_panel(at[i], low, weights[i]);
  }
  float at[kPanels][2][4];
};

/// Calls visit(columns, row, sums of the two columns) for each row of the lane.
template <class Visit>
__device__ void for_each_two(const CudaAdapterExpandParams& params, const WarpPanels& panels,
                             const std::int64_t (&rows)[2], PanelSums& sums, Visit visit) {
#pragma unroll
  for (int i = 0; i < kPanels; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const TwoColumns columns =
          columns_of_lane(params, params.runs[panels.run], panels.first + i, half);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        visit(columns, rows[r], sums.at[i][half][2 * r], sums.at[i][half][2 * r + 1]);
      }
    }
  }
}

__global__ void __launch_bounds__(kExpandThreads) expand_kernel(CudaAdapterExpandParams params) {
  __shared__ LowRoom room;
  let_successor_start();
  const CudaAdapterTask task = adapter_task(params.tasks, blockIdx.y);
  if (task.count == 0) return wait_for_predecessor();
  const WarpPanels panels(params);
  const AdapterRun& run = params.runs[panels.run];
  const CudaAdapterPair pair = adapter_pair(params.places, task, run.site);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto* weights =
      reinterpret_cast<const uint4*>(adapter_place(params.places, max(task.place, 0)) + pair.b) +
      lane;
  const auto run_panels = static_cast<int>(run.panels());
  uint4 of[kPanels];
  const auto load_weights = [&](int tile) {
#pragma unroll
    for (int i = 0; i < kPanels; ++i) {
      of[i] = make_uint4(0, 0, 0, 0);
      if (tile >= pair.tiles || panels.first + i >= run_panels) continue;
      of[i] = weights[((run.first_panel + panels.first + i) * pair.tiles + tile) * kWarp];
    }
  };
  load_weights(0);
  const std::int32_t* rows = params.tasks.rows + task.first;
  std::int64_t own_rows[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    own_rows[i] = lane / 4 + 8 * i < task.count ? rows[lane / 4 + 8 * i] : -1;
  }
  const int low_row = static_cast<int>(threadIdx.x) % kFours / 4;
  const float* from = nullptr;
  if (low_row < task.count)
    from = params.sums + rows[low_row] * params.sums_width + run.low + threadIdx.x % 4 * 4;
  wait_for_predecessor();
  PanelSums sums;
  for_each_two(params, panels, own_rows, sums,
               [&](const TwoColumns& columns, std::int64_t row, float& one, float& other) {
                 float2 two{-0.0F, -0.0F};
                 if (row >= 0 && params.residual.data != nullptr)
                   two = columns.load(static_cast<const float*>(row_of(params.residual, row)));
                 one = two.x;
                 other = two.y;
               });
  for (int tile = 0; tile < pair.tiles; ++tile) {
    if (tile > 0) {
      load_weights(tile);
      __syncthreads();  // all threads have read the previous tile
    }
    room[threadIdx.x / kFours][threadIdx.x % kFours] =
        add_slices(params, from == nullptr ? from : from + tile * kAdapterTile);
    __syncthreads();
    sums.add(low_rows(room, params.scale), of);
  }
  for_each_two(params, panels, own_rows, sums,
               [&](const TwoColumns& columns, std::int64_t row, float one, float other) {
                 if (row >= 0)
                   columns.store(static_cast<float*>(writable_row(params.out, row)), {one, other});
               });
}

}  // namespace

Status adapter_expand(const CudaAdapterExpandParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  std::int64_t blocks = 0;
  for (int i = 0; i < params.run_count; ++i)
    blocks += (params.runs[i].panels() + kBlockPanels - 1) / kBlockPanels;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(params.tasks.most));
  return launch(expand_kernel, grid, dim3(kExpandThreads), 0, stream, params);
}

}  // namespace weft::cuda
