#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/sample/ordered_key_cuda.cuh"

namespace weft::cuda {
namespace {

// Sorting: a thread block for each expert goes through all choices.
constexpr int kSortThreads = 256;

constexpr int kCombineThreads = 256;
constexpr int kCombineColumns = 4 * kCombineThreads;

constexpr Key kAboveAll = ~Key{0};

__device__ float greatest_of_warp(float value) {
#pragma unroll
  for (int other = kWarp / 2; other > 0; other /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kWholeWarp, value, other));
  }
  return value;
}

/// Softmax of numbers in shared memory, by one warp.
__device__ void softmax(float* numbers, int count, int lane) {
  float best = -INFINITY;
  for (int i = lane; i < count; i += kWarp) best = fmaxf(best, numbers[i]);
  best = greatest_of_warp(best);
  float sum = 0;
  for (int i = lane; i < count; i += kWarp) {
    numbers[i] = expf(numbers[i] - best);
    sum += numbers[i];
  }
  sum = warp_sum(sum);
  for (int i = lane; i < count; i += kWarp) numbers[i] /= sum;
  __syncwarp();
}

/// Chooses one token's experts, by one warp. An expert is still available if its key is below the
/// last taken key and not 0.
class TokenRouter {
 public:
  /// `room` has 3 * E numbers: weights, the keys that experts are chosen by, and chosen weights.
  __device__ TokenRouter(const CudaRouteParams& params, float* room)
      : params_(params),
        experts_(params.experts),
        weight_(room),
        choice_(room + params.experts),
        chosen_(room + 2 * params.experts),
        lane_(threadIdx.x) {}

  __device__ void run(std::int64_t token) {
    score(static_cast<const float*>(row_of(params_.scores, token)));
    if (params_.spec.chosen_groups < params_.spec.groups) drop_other_groups();
    std::int32_t* expert_of = params_.routing.expert_of + token * params_.spec.chosen;
    Key taken = kAboveAll;
    for (int rank = 0; rank < params_.spec.chosen; ++rank) {
      taken = best_below(taken, 0, experts_, kWarp, lane_);
      taken = warp_max(taken);
      const int expert = index_of(taken);
      const float weight = params_.spec.kind == RouterKind::kSoftmaxOfClose
                               ? weight_among_close(taken)
                               : weight_[expert];
      if (lane_ == 0) {
        expert_of[rank] = expert;
        chosen_[rank] = weight;
      }
    }
    __syncwarp();
    write_weights(expert_of, params_.routing.weight_of + token * params_.spec.chosen);
  }

 private:
  // The key of experts of left-out groups: below -inf, so they are never taken.
  static constexpr unsigned kLeftOut = 0xffffffffU;

  [[nodiscard]] __device__ bool is_left_out(int expert) const {
    return __float_as_uint(choice_[expert]) == kLeftOut;
  }

  __device__ void score(const float* scores) {
    for (int e = lane_; e < experts_; e += kWarp) weight_[e] = scores[e];
    __syncwarp();
    if (params_.spec.kind == RouterKind::kSoftmaxThenTopK) softmax(weight_, experts_, lane_);
    for (int e = lane_; e < experts_; e += kWarp) {
      if (params_.spec.kind == RouterKind::kSigmoid) weight_[e] = 1.0F / (1.0F + expf(-weight_[e]));
      const float choice =
          weight_[e] + (params_.selection_bias != nullptr ? params_.selection_bias[e] : 0.0F);
      choice_[e] = isnan(choice) ? -INFINITY : choice;
    }
    __syncwarp();
  }

  /// Returns the greatest key below `limit` of experts first, first + step, ... < end; 0 if none.
  [[nodiscard]] __device__ Key best_below(Key limit, int first, int end, int step,
                                          int offset) const {
    Key best = 0;
    for (int e = first + offset; e < end; e += step) {
      if (is_left_out(e)) continue;
      const Key key = key_of(choice_[e], e);
      if (key < limit && key > best) best = key;
    }
    return best;
  }

  /// Leaves out all but the best groups, a lane each. A group's score is the sum of its best keys.
  __device__ void drop_other_groups() {
    const int size = experts_ / params_.spec.groups;
    for (int g = lane_; g < params_.spec.groups; g += kWarp) {
      float sum = 0;
      Key taken = kAboveAll;
      for (int i = 0; i < params_.spec.group_best; ++i) {
        taken = best_below(taken, g * size, (g + 1) * size, 1, 0);
        sum += choice_[index_of(taken)];
      }
      chosen_[g] = sum;
    }
    __syncwarp();
    Key least = kAboveAll;
    for (int i = 0; i < params_.spec.chosen_groups; ++i) {
      Key best = 0;
      for (int g = lane_; g < params_.spec.groups; g += kWarp) {
        const Key key = key_of(chosen_[g], g);
        if (key < least && key > best) best = key;
      }
      least = warp_max(best);
    }
    for (int e = lane_; e < experts_; e += kWarp) {
      const int group = e / size;
      if (key_of(chosen_[group], group) < least) choice_[e] = __uint_as_float(kLeftOut);
    }
    __syncwarp();
  }

  /// The softmax of the expert just taken, among the remaining experts within `margin` of it.
  [[nodiscard]] __device__ float weight_among_close(Key taken) const {
    const float best = choice_[index_of(taken)];
    float sum = 0;
    for (int e = lane_; e < experts_; e += kWarp) {
      if (is_left_out(e) || key_of(choice_[e], e) >= taken) continue;
      const float score = choice_[e];
      const bool is_close = best - score <= params_.spec.margin * fmaxf(fabsf(score), best);
      if (is_close) sum += expf(score - best);
    }
    return 1.0F / (1.0F + warp_sum(sum));
  }

  __device__ void write_weights(const std::int32_t* expert_of, float* weight_of) {
    const int count = params_.spec.chosen;
    if (params_.spec.kind == RouterKind::kTopKThenSoftmax) softmax(chosen_, count, lane_);
    float divisor = 1;
    if (params_.spec.normalize) {
      divisor = 0;
      for (int rank = 0; rank < count; ++rank) divisor += chosen_[rank];
      // All weights underflowed: they stay zero.
      if (divisor == 0) divisor = 1;
    }
    for (int rank = lane_; rank < count; rank += kWarp) {
      float weight = chosen_[rank] / divisor * params_.spec.scale;
      if (params_.weight_scales != nullptr) weight *= params_.weight_scales[expert_of[rank]];
      weight_of[rank] = weight;
    }
  }

  const CudaRouteParams& params_;
  int experts_;
  float* weight_;
  float* choice_;
  float* chosen_;
  int lane_;
};

__global__ void __launch_bounds__(kWarp)
    choose_kernel(const __grid_constant__ CudaRouteParams params) {
  WEFT_DYNAMIC_SHARED(float, room);
  let_successor_start();
  wait_for_predecessor();
  TokenRouter(params, room).run(blockIdx.x);
}

/// Returns the sum of integers over the block to every thread.
__device__ int block_sum(int value, int* room) {
  value = static_cast<int>(__reduce_add_sync(kWholeWarp, static_cast<unsigned>(value)));
  if (threadIdx.x % kWarp == 0) room[threadIdx.x / kWarp] = value;
  __syncthreads();
  int sum = 0;
  for (int w = 0; w < kSortThreads / kWarp; ++w) sum += room[w];
  __syncthreads();
  return sum;
}

/// Lists the choices of one expert in ascending order, whatever order threads run in.
__global__ void __launch_bounds__(kSortThreads)
    sort_kernel(DeviceRouting routing, int choices, int chosen) {
  __shared__ int counts[kSortThreads / kWarp];
  let_successor_start();
  wait_for_predecessor();
  const int expert = static_cast<int>(blockIdx.x);
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  int below = 0;
  for (int c = threadIdx.x; c < choices; c += kSortThreads) {
    below += routing.expert_of[c] < expert ? 1 : 0;
  }
  int place = block_sum(below, counts);
  if (threadIdx.x == 0) {
    routing.starts[expert] = place;
    if (expert == 0) routing.starts[gridDim.x] = choices;
  }
  for (int first = 0; first < choices; first += kSortThreads) {
    const int c = first + static_cast<int>(threadIdx.x);
    const bool is_own = c < choices && routing.expert_of[c] == expert;
    const unsigned own = __ballot_sync(kWholeWarp, is_own);
    if (lane == 0) counts[warp] = __popc(own);
    __syncthreads();
    int before = 0;
    int all = 0;
    for (int w = 0; w < kSortThreads / kWarp; ++w) {
      before += w < warp ? counts[w] : 0;
      all += counts[w];
    }
    __syncthreads();
    if (is_own) {
      const int at = place + before + __popc(own & ((1U << lane) - 1U));
      routing.order[at] = c;
      routing.token_of[at] = c / chosen;
      routing.place_of[c] = at;
    }
    place += all;
  }
}

__global__ void __launch_bounds__(kCombineThreads) combine_kernel(CudaCombineParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t width = params.out.width;
  const std::int64_t row = blockIdx.x;
  const std::int64_t first = std::int64_t{blockIdx.y} * kCombineColumns + threadIdx.x * 4;
  if (first >= width) return;
  Four sum{};
  if (params.residual.data != nullptr) {
    sum = load_four(DType::kF32, row_of(params.residual, row), first);
  }
  for (int rank = 0; rank < params.chosen; ++rank) {
    const std::int64_t choice = row * params.chosen + rank;
    if (params.experts.count > 0) {  // as ExpertRun::has(), which is host code
      const int expert = params.routing.expert_of[choice] - params.experts.first;
      if (expert < 0 || expert >= params.experts.count) continue;
    }
    const float weight = params.routing.weight_of[choice];
    const Four in =
        load_four(DType::kF32, row_of(params.in, params.routing.place_of[choice]), first);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum.at[i] += weight * in.at[i];
  }
  store_four(DType::kF32, writable_row(params.out, row), first, sum, width - first);
}

}  // namespace

Status route(const CudaRouteParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  const std::size_t room = 3 * sizeof(float) * static_cast<std::size_t>(params.experts);
  const Status status = launch(choose_kernel, dim3(static_cast<unsigned>(params.rows)), dim3(kWarp),
                               room, stream, params);
  if (status != Status::kSuccess) return status;
  return launch(sort_kernel, dim3(static_cast<unsigned>(params.experts)), dim3(kSortThreads), 0,
                stream, params.routing, static_cast<int>(params.rows) * params.spec.chosen,
                params.spec.chosen);
}

Status combine(const CudaCombineParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  const dim3 grid(
      static_cast<unsigned>(params.rows),
      static_cast<unsigned>((params.out.width + kCombineColumns - 1) / kCombineColumns));
  return launch(combine_kernel, grid, dim3(kCombineThreads), 0, stream, params);
}

}  // namespace weft::cuda
