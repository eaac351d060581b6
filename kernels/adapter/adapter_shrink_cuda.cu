#include "weft/kernels/adapter/adapter_shrink.h"
#include "weft/kernels/adapter/adapter_task_cuda.cuh"

/// A x for tasks of up to 16 rows, by tensor cores. A block has 16 ranks of a task and a slice of
/// the inputs, of which its warps take runs in turn. A's first runs are fetched before the
/// predecessor ends.
namespace weft::cuda {
namespace {

constexpr int kShrinkWarps = 8;
constexpr int kShrinkThreads = kShrinkWarps * kWarp;
constexpr int kRunsAhead = 2;  // of a warp, that are fetched before the predecessor ends
constexpr int kHalves = 2;     // of a tile's ranks: each the n of a product

/// Numbers first .. first + 7 of a row in bf16, zeros behind its width, and what that leaves out.
struct Eight {
  uint4 high;
  uint4 rest;  ///< zeros of rows in bf16
};

__device__ Eight load_eight(const DeviceRows& rows, const void* row, std::int64_t first) {
  const uint4 zeros = make_uint4(0, 0, 0, 0);
  if (row == nullptr) return {zeros, zeros};
  if (rows.dtype == DType::kBF16 && first + 8 <= rows.width)
    return {*reinterpret_cast<const uint4*>(static_cast<const __nv_bfloat16*>(row) + first), zeros};
  float at[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    at[i] = first + i < rows.width ? load_one(rows.dtype, row, first + i) : 0.0F;
  }
  Eight eight;
  split_pair({at[0], at[1]}, eight.high.x, eight.rest.x);
  split_pair({at[2], at[3]}, eight.high.y, eight.rest.y);
  split_pair({at[4], at[5]}, eight.high.z, eight.rest.z);
  split_pair({at[6], at[7]}, eight.high.w, eight.rest.w);
  return eight;
}

/// The runs of inputs of a warp: first, first + kShrinkWarps, ... before `end`.
struct WarpRuns {
  __device__ WarpRuns(const CudaAdapterShrinkParams& params, unsigned slice) {
    all = static_cast<int>((params.in.width + kAdapterInputRun - 1) / kAdapterInputRun);
    const int of_slice = (all + params.slices - 1) / params.slices;
    first = static_cast<int>(slice) * of_slice + static_cast<int>(threadIdx.x) / kWarp;
    end = min(all, static_cast<int>(slice + 1) * of_slice);
  }
  int all;
  int first;
  int end;
};

/// The sums of 16 rows and 16 ranks, and the rows of a lane: lane / 4 and 8 further.
struct WarpSums {
  __device__ void add(const DeviceRows& in, int run, const RunWeights& weights) {
    const std::int64_t column = run * kAdapterInputRun + threadIdx.x % 4 * 8;
    const Eight x = load_eight(in, rows[0], column);
    const Eight y = load_eight(in, rows[1], column);
    if (in.dtype != DType::kBF16) add_run(sums, x.rest, y.rest, weights);
    add_run(sums, x.high, y.high, weights);
  }

  const void* rows[2] = {};
  float sums[kHalves][4] = {};
};

/// By row and rank; no two lanes write to one bank.
using WarpRoom = float[kAdapterTaskRows][kAdapterTile + 1];

__device__ void put_sums(const WarpSums& of, WarpRoom& room) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      room[lane / 4 + i / 2 * 8][half * 8 + lane % 4 * 2 + i % 2] = of.sums[half][i];
    }
  }
}

__global__ void __launch_bounds__(kShrinkThreads) shrink_kernel(CudaAdapterShrinkParams params) {
  __shared__ WarpRoom room[kShrinkWarps];
  let_successor_start();
  const int tiles = params.rank / static_cast<int>(kAdapterTile);
  const int tile = static_cast<int>(blockIdx.y) % tiles;
  const CudaAdapterTask task = adapter_task(params.tasks, blockIdx.z);
  const CudaAdapterPair pair =
      adapter_pair(params.places, task, params.first_site + static_cast<int>(blockIdx.y) / tiles);
  // Whoever waits for this kernel relies on its predecessor too.
  if (tile >= pair.tiles) return wait_for_predecessor();
  const WarpRuns runs(params, blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto* weights =
      reinterpret_cast<const uint4*>(adapter_place(params.places, task.place) + pair.a) +
      std::int64_t{tile} * runs.all * kHalves * kWarp + lane;
  RunWeights ahead[kRunsAhead] = {};
#pragma unroll
  for (int i = 0; i < kRunsAhead; ++i) {
    const int run = runs.first + i * kShrinkWarps;
    if (run < runs.end) ahead[i] = load_run_weights(weights, run);
  }
  const std::int32_t* rows = params.tasks.rows + task.first;
  WarpSums sums;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int at = lane / 4 + 8 * i;
    if (at < task.count) sums.rows[i] = row_of(params.in, rows[at]);
  }
  wait_for_predecessor();
#pragma unroll
  for (int i = 0; i < kRunsAhead; ++i) {
    const int run = runs.first + i * kShrinkWarps;
    if (run < runs.end) sums.add(params.in, run, ahead[i]);
  }
#pragma unroll 2
  for (int run = runs.first + kRunsAhead * kShrinkWarps; run < runs.end; run += kShrinkWarps) {
    sums.add(params.in, run, load_run_weights(weights, run));
  }
  put_sums(sums, room[threadIdx.x / kWarp]);
  __syncthreads();
  const int task_row = static_cast<int>(threadIdx.x / kAdapterTile);
  const int rank = static_cast<int>(threadIdx.x % kAdapterTile);
  if (task_row >= task.count) return;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kShrinkWarps; ++warp) sum += room[warp][task_row][rank];
  const std::int64_t row = blockIdx.x * params.rows + rows[task_row];
  params.sums[(row * gridDim.y + blockIdx.y) * kAdapterTile + rank] = pair.scale * sum;
}
static_assert(kShrinkThreads == kAdapterTaskRows * kAdapterTile, "a thread for each sum");

}  // namespace

Status adapter_shrink(const CudaAdapterShrinkParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  const auto columns = params.sites * params.rank / static_cast<int>(kAdapterTile);
  const dim3 grid(static_cast<unsigned>(params.slices), static_cast<unsigned>(columns),
                  static_cast<unsigned>(params.tasks.most));
  return launch(shrink_kernel, grid, dim3(kShrinkThreads), 0, stream, params);
}

}  // namespace weft::cuda
