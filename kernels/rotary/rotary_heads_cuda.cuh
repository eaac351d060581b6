#pragma once

#include <cstdint>

#include "weft/kernels/attention/kv_row_cuda.cuh"
#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/rotary/rotary.h"

/// Clip, norm, rotation and the write to the cache of a token's heads, by warps that have them in
/// shared memory.
namespace weft::cuda {

__host__ __device__ inline bool is_over_all(const HeadNorm& norm) {
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
  std::byte* cache;  ///< null: the heads are not stored
};

/// Where the angles of a token's position stand: cosine and sine of each pair.
struct TokenAngles {
  const float* cosines;
  const float* sines;
};

/// The heads of one token, which warps take by turns: warp w of these has heads w, w + warps, ...
/// of a section. They stand in shared memory, one behind the other.
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

  /// Makes a section's heads ready in shared memory.
  __device__ void make(const Section& section) const {
    read(section);
    const bool norms = section.norm != nullptr && section.norm->spec.enabled;
    if (norms && !params_.spec.norm_after_rotary) norm(section);
    if (section.turns && params_.spec.rotary_size > 0) turn(section);
    if (norms && params_.spec.norm_after_rotary) norm(section);
    if (section.grows && params_.spec.query_growth_step > 0) grow(section);
  }

  /// Puts made heads back into the token's row.
  __device__ void write(const Section& section) const {
    const int size = params_.shape.head_size;
    each_head(section, [&](int h) {
      float* to = in_ + std::int64_t{section.first + h} * size;
      for (int i = lane_; i < size; i += kWarp) to[i] = head(h)[i];
    });
  }

  /// Writes made heads to the cache. A row that is none of the step's has no place there.
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
