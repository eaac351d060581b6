#include "weft/kernels/adapter/adapter_shrink.h"
#include "weft/kernels/adapter/adapter_task_cuda.cuh"

/// Computes A x with tensor cores, for tasks of up to 16 rows. A block has 16 ranks of a task and a
/// slice of the inputs; its warps take runs of the slice in turn. The block fetches A's first runs
/// before the predecessor ends.
namespace weft::cuda {
namespace {

constexpr int kShrinkWarps = 8;
constexpr int kShrinkThreads = kShrinkWarps * kWarp;
constexpr int kRunsAhead = 2;  // runs that a warp fetches before the predecessor ends
constexpr int kHalves = 2;     // halves of a tile's ranks: each is the n of a product

/// Numbers first .. first + 7 of a row as parts of bf16, with zeros past the row's width. For rows
/// in bf16 only the first part is not zero.
struct Eight {
  uint4 parts[kFloatParts];
};

__device__ Eight load_eight(const DeviceRows& rows, const void* row, std::int64_t first) {
  Eight eight = {};
  if (row == nullptr) return eight;
  if (rows.dtype == DType::kBF16 && first + 8 <= rows.width) {
    eight.parts[0] =
        *reinterpret_cast<const uint4*>(static_cast<const __nv_bfloat16*>(row) + first);
    return eight;
  }
  std::uint32_t split[4][kFloatParts];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int64_t at = first + 2 * i;
    split_pair({at < rows.width ? load_one(rows.dtype, row, at) : 0.0F,
                at + 1 < rows.width ? load_one(rows.dtype, row, at + 1) : 0.0F},
               split[i]);
  }
#pragma unroll
  for (int i = 0; i < kFloatParts; ++i) {
    eight.parts[i] = make_uint4(split[0][i], split[1][i], split[2][i], split[3][i]);
  }
  return eight;
}

/// A warp's runs of inputs: first, first + kShrinkWarps, ... before `end`.
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

/// The sums of 16 rows and 16 ranks. A lane has rows lane / 4 and lane / 4 + 8.
struct WarpSums {
  __device__ void add(const DeviceRows& in, int run, const RunWeights& weights) {
    const std::int64_t column = run * kAdapterInputRun + threadIdx.x % 4 * 8;
    const Eight x = load_eight(in, rows[0], column);
    const Eight y = load_eight(in, rows[1], column);
#pragma unroll
    for (int i = kFloatParts - 1; i >= 0; --i) {
      if (i == 0 || in.dtype != DType::kBF16) add_run(sums, x.parts[i], y.parts[i], weights);
    }
  }

  const void* rows[2] = {};
  float sums[kHalves][4] = {};
};

/// Sums by row and rank; no two lanes write to one bank.
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
  // Kernels that wait for this kernel rely on its predecessor too.
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
