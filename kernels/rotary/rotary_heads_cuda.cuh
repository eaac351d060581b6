#pragma once

#include <cstdint>

#include "weft/kernels/attention/kv_row_cuda.cuh"
#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/rotary/rotary.h"

/// Clip, norm, rotation and storing of a token's heads, by warps that hold the heads in shared
/// memory.
namespace weft::cuda {

__host__ __device__ inline bool is_over_all(const HeadNorm& norm) {
  return norm.spec.scope == HeadNormScope::kAllHeads;
}

/// Heads of one kind, [first, first + count) of the token's row.
struct Section {
  int first;
  int count;
  int index;  ///< index of the first head among the heads of its kind
  const HeadNorm* norm;
  bool turns;
  bool grows;
  std::byte* cache;  ///< null: the heads are not stored
};

/// The cosines and sines of each pair at a token's position.
struct TokenAngles {
  const float* cosines;
  const float* sines;
};

/// The heads of one token in shared memory, one after the other. Warps take turns: warp w has heads
/// w, w + warps, ... of a section.
class TokenHeads {
 public:
  struct Warps {
    int own;
    int all;
  };

  /// `sums` has room for block_sum(), for norms over all heads; else it may be null.
  __device__ TokenHeads(const CudaRotaryParams& params, std::int64_t row, TokenAngles angles,
                        Warps warps, float* heads, float* sums)
      : params_(params),
        row_(row),
        in_(static_cast<float*>(writable_row(params.qkv, row))),
        angles_(angles),
        heads_(heads),
        sums_(sums),
        warp_(warps.own),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        warps_(warps.all) {}

  /// Loads a section's heads to shared memory, clips, normalizes and rotates them.
  __device__ void make(const Section& section) const {
    read(section);
    const bool norms = section.norm != nullptr && section.norm->spec.enabled;
    if (norms && !params_.spec.norm_after_rotary) norm(section);
    if (section.turns && params_.spec.rotary_size > 0) turn(section);
    if (norms && params_.spec.norm_after_rotary) norm(section);
    if (section.grows && params_.spec.query_growth_step > 0) grow(section);
  }

  /// Writes finished heads back to the token's row.
  __device__ void write(const Section& section) const {
    const int size = params_.shape.head_size;
    each_head(section, [&](int h) {
      float* to = in_ + std::int64_t{section.first + h} * size;
      for (int i = lane_; i < size; i += kWarp) to[i] = head(h)[i];
    });
  }

  /// Writes finished heads to the cache. A row beyond the step's tokens has no place there.
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

 private:
  [[nodiscard]] __device__ float* head(int h) const { return heads_ + h * params_.shape.head_size; }

  /// Afterwards all lanes of the warp see what its lanes wrote to shared memory.
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
        // Both comparisons are false for NaN, so it stays NaN.
        const float most = params_.spec.clip;
        const float bounded = value < -most ? -most : (value > most ? most : value);
        head(h)[i] = most > 0 ? bounded : value;
      }
    });
  }

  __device__ void turn(const Section& section) const {
    const int pairs = params_.spec.rotary_size / 2;
    const bool halves = params_.spec.style == RotaryStyle::kHalves;
    each_head(section, [&](int h) {
      for (int i = lane_; i < pairs; i += kWarp) {
        float& left = head(h)[halves ? i : 2 * i];
        float& right = head(h)[halves ? i + pairs : 2 * i + 1];
        const float cosine = angles_.cosines[i];
        const float sine = angles_.sines[i];
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

  /// Returns the sum of term(number) over a head, or over all heads of the section.
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

  const CudaRotaryParams& params_;
  std::int64_t row_;
  float* in_;
  TokenAngles angles_;
  float* heads_;
  float* sums_;
  int warp_;
  int lane_;
  int warps_;
};

/// The angles of a row's position in the tables.
__device__ inline TokenAngles angles_of(const CudaRotaryParams& params, std::int64_t row) {
  if (params.spec.rotary_size == 0) return {};
  const std::int64_t position = max(params.position_ids[row], 0);
  const std::int64_t first = position * (params.spec.rotary_size / 2);
  return {params.cosines + first, params.sines + first};
}

}  // namespace weft::cuda
