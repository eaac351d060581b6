#include <algorithm>

#include "weft/kernels/attention/kv_row_cuda.cuh"
#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/rotary/rotary_cuda.h"

namespace weft::cuda {
namespace {

// Heads that a block takes, a warp for each: few, so that a single token is spread over the device.
constexpr int kWarps = 4;
// A norm over all heads wants them in one block.
constexpr int kMostWarps = 16;

__host__ __device__ bool is_over_all(const HeadNorm& norm) {
  return norm.spec.scope == HeadNormScope::kAllHeads;
}

/// Heads of one kind, [first, first + count) of the token's row.
struct Section {
  int first;
  int count;
  int index;  ///< of the first among the heads of its kind
  const HeadNorm* norm;
  bool turns;
  bool grows;
  std::byte* cache;
};

/// One block's part of a token: heads stand in shared memory, warp w has w, w + warps, ...
class TokenHeads {
 public:
  __device__ TokenHeads(const CudaRotaryParams& params, float* heads, float* sums)
      : params_(params),
        row_(blockIdx.x),
        in_(static_cast<float*>(writable_row(params.qkv, row_))),
        heads_(heads),
        sums_(sums),
        warp_(threadIdx.x / kWarp),
        lane_(threadIdx.x % kWarp),
        warps_(blockDim.x / kWarp) {}

  __device__ void run(const Section& section) const {
    if (section.count == 0) return;
    read(section);
    const bool norms = section.norm != nullptr && section.norm->spec.enabled;
    if (norms && !params_.spec.norm_after_rotary) norm(section);
    if (section.turns && params_.spec.rotary_size > 0) turn(section);
    if (norms && params_.spec.norm_after_rotary) norm(section);
    if (section.grows && params_.spec.query_growth_step > 0) grow(section);
    write(section);
    if (section.cache != nullptr) store(section);
  }

 private:
  [[nodiscard]] __device__ float* head(int h) const { return heads_ + h * params_.shape.head_size; }

  /// What a warp writes to shared memory, all of its lanes see.
  template <class Body>
  __device__ void each_head(const Section& section, const Body& body) const {
    for (int h = warp_; h < section.count; h += warps_) body(h);
    __syncwarp();
  }

  __device__ void read(const Section& section) const {
    const int size = params_.shape.head_size;
    each_head(section, [&](int h) {
      const float* from = in_ + std::int64_t{section.first + h} * size;
      for (int i = lane_; i < size; i += kWarp) {
        const float value = from[i];
        // NaN is neither below nor above and stays.
        const float most = params_.spec.clip;
        const float bounded = value < -most ? -most : (value > most ? most : value);
        head(h)[i] = most > 0 ? bounded : value;
      }
    });
  }

  __device__ void turn(const Section& section) const {
    const int pairs = params_.spec.rotary_size / 2;
    const std::int64_t position = max(params_.position_ids[row_], 0);
    const bool halves = params_.spec.style == RotaryStyle::kHalves;
    each_head(section, [&](int h) {
      for (int i = lane_; i < pairs; i += kWarp) {
        float& left = head(h)[halves ? i : 2 * i];
        float& right = head(h)[halves ? i + pairs : 2 * i + 1];
        const float cosine = params_.cosines[position * pairs + i];
        const float sine = params_.sines[position * pairs + i];
        const float a = left;
        const float b = right;
        left = a * cosine - b * sine;
        right = b * cosine + a * sine;
      }
    });
  }

  __device__ void grow(const Section& section) const {
    const int position = max(params_.position_ids[row_], 0);
    const auto steps = static_cast<float>(position / params_.spec.query_growth_step);
    const float scale = 1.0F + params_.spec.query_growth * log1pf(steps);
    each_head(section, [&](int h) {
      for (int i = lane_; i < params_.shape.head_size; i += kWarp) head(h)[i] *= scale;
    });
  }

  /// The sum of term(number) over a head, or over all heads of the section.
  template <class Term>
  [[nodiscard]] __device__ float sum_of(const Section& section, int h, const Term& term) const {
    const bool all = is_over_all(*section.norm);
    float sum = 0;
    for (int other = all ? warp_ : h; other < (all ? section.count : h + 1); other += warps_) {
      for (int i = lane_; i < params_.shape.head_size; i += kWarp) sum += term(head(other)[i]);
    }
    if (!all) return warp_sum(sum);
    __syncthreads();
    return block_sum(sum, sums_);
  }

  __device__ void norm(const Section& section) const {
    if (is_over_all(*section.norm)) {
      const float2 moments = moments_of(section, 0);
      each_head(section, [&](int h) { apply(section, h, moments); });
    } else {
      each_head(section, [&](int h) { apply(section, h, moments_of(section, h)); });
    }
  }

  [[nodiscard]] __device__ float2 moments_of(const Section& section, int h) const {
    const NormSpec& norm = section.norm->spec.norm;
    const int heads = is_over_all(*section.norm) ? section.count : 1;
    const auto count = static_cast<float>(heads * params_.shape.head_size);
    float mean = 0;
    if (norm.kind == NormKind::kLayer) {
      mean = sum_of(section, h, [](float x) { return x; }) / count;
    }
    const float squares = sum_of(section, h, [mean](float x) { return (x - mean) * (x - mean); });
    return {mean, 1.0F / sqrtf(squares / count + norm.eps)};
  }

  __device__ void apply(const Section& section, int h, float2 moments) const {
    const HeadNorm& norm = *section.norm;
    const bool own_weights = norm.spec.scope != HeadNormScope::kPerHead;
    const int own = own_weights ? (section.index + h) * params_.shape.head_size : 0;
    for (int i = lane_; i < params_.shape.head_size; i += kWarp) {
      float value = (head(h)[i] - moments.x) * moments.y;
      if (norm.weight != nullptr) value *= norm.weight[own + i] + norm.spec.norm.weight_offset;
      if (norm.bias != nullptr) value += norm.bias[own + i];
      head(h)[i] = value;
    }
  }

  __device__ void write(const Section& section) const {
    const int size = params_.shape.head_size;
    each_head(section, [&](int h) {
      float* to = in_ + std::int64_t{section.first + h} * size;
      for (int i = lane_; i < size; i += kWarp) to[i] = head(h)[i];
    });
  }

  __device__ void store(const Section& section) const {
    const std::int32_t index = params_.spans.sequence_of[row_];
    if (index < 0) return;
    const DeviceSequence sequence = params_.spans.sequences[index];
    const DeviceKvLayer& kv = params_.kv;
    const auto position =
        static_cast<std::int32_t>(sequence.start + (row_ - std::int64_t{sequence.first}));
    const std::int64_t page = params_.spans.pages[sequence.first_page + position / kv.page_tokens];
    each_head(section, [&](int h) {
      const std::int64_t slot =
          (page * kv.kv_heads + section.index + h) * kv.page_tokens + position % kv.page_tokens;
      store_kv_row(kv.dtype, head(h), kv.head_size, section.cache, slot, lane_);
    });
  }

  const CudaRotaryParams& params_;
  std::int64_t row_;
  float* in_;
  float* heads_;
  float* sums_;
  int warp_;
  int lane_;
  int warps_;
};

/// The part of the heads [begin, end) of a row that are of a kind with heads [first, first +
/// count).
__device__ Section part_of(int begin, int end, int first, int count) {
  Section section{};
  section.first = max(begin, first);
  section.count = max(min(end, first + count) - section.first, 0);
  section.index = section.first - first;
  return section;
}

__global__ void __launch_bounds__(kMostWarps* kWarp)
    rotate_kernel(const __grid_constant__ CudaRotaryParams params, int heads_at_once) {
  extern __shared__ float heads[];
  __shared__ float sums[kWarp];
  let_successor_start();
  wait_for_predecessor();
  const int begin = static_cast<int>(blockIdx.y) * heads_at_once;
  const int end = begin + heads_at_once;
  const bool stores = params.kv.keys != nullptr;

  Section queries = part_of(begin, end, 0, params.shape.heads);
  queries.norm = &params.query_norm;
  queries.turns = true;
  queries.grows = true;
  Section keys = part_of(begin, end, params.shape.heads, params.shape.kv_heads);
  keys.norm = &params.key_norm;
  keys.turns = true;
  keys.cache = stores ? params.kv.keys : nullptr;
  Section values =
      part_of(begin, end, params.shape.heads + params.shape.kv_heads, params.shape.kv_heads);
  values.norm = &params.value_norm;
  values.cache = stores ? params.kv.values : nullptr;

  const TokenHeads block(params, heads, sums);
  block.run(queries);
  block.run(keys);
  block.run(values);
}

}  // namespace

Status rotate_and_store(const CudaRotaryParams& params, Stream stream) {
  const int heads = params.shape.heads + 2 * params.shape.kv_heads;
  if (params.rows == 0 || heads == 0) return Status::kSuccess;
  const auto wants_all = [](const HeadNorm& norm) {
    return norm.spec.enabled && is_over_all(norm);
  };
  const bool together =
      wants_all(params.query_norm) || wants_all(params.key_norm) || wants_all(params.value_norm);
  const int at_once = together ? heads : kWarps;
  const int warps = together ? kMostWarps : kWarps;
  const std::size_t bytes =
      sizeof(float) * static_cast<std::size_t>(params.shape.head_size) *
      static_cast<std::size_t>(together ? std::max(params.shape.heads, params.shape.kv_heads)
                                        : kWarps);
  constexpr std::size_t kPlainBytes = std::size_t{48} << 10U;
  if (bytes > kPlainBytes) {
    const auto error = cudaFuncSetAttribute(
        rotate_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (error != cudaSuccess) return status_of(error);
  }
  const dim3 grid(static_cast<unsigned>(params.rows),
                  static_cast<unsigned>((heads + at_once - 1) / at_once));
  return launch(rotate_kernel, grid, dim3(static_cast<unsigned>(warps * kWarp)), bytes, stream,
                params, at_once);
}

}  // namespace weft::cuda
