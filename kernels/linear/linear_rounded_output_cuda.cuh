#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_rounded_tile_cuda.cuh"

/// Writes the outputs of kRounded.
namespace weft::cuda::rounded {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// kCount neighbouring outputs that a lane writes for some tokens of a tile. A warp has all outputs
/// of a token.
template <class Sizes, bool kGated>
class LaneOutputs {
 public:
  __device__ LaneOutputs(const float* staged, const LinearEpilogue& epilogue, unsigned rows)
      : epilogue_(epilogue),
        warp_(static_cast<int>(threadIdx.x) / 32),
        sums_(staged + threadIdx.x % 32 * kCount),
        output_(std::int64_t{rows} * (32 * kCount) + threadIdx.x % 32 * kCount),
        count_(static_cast<int>(
            min(std::int64_t{kCount}, max(epilogue.outputs - output_, std::int64_t{0})))) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      bias_[i] = i < count_ ? epilogue.bias_of(output_ + i) : 0.0F;
      up_bias_[i] = kGated && i < count_ ? epilogue.bias_of(epilogue.outputs + output_ + i) : 0.0F;
    }
  }

  /// Writes staged tokens from token `first` on.
  __device__ void write(int first, int count) const {
    constexpr int kTogether = Sizes::kStagedTokens / kWarps;  // residuals that a lane reads at once
    if (count_ <= 0) return;
    float addends[kTogether][kCount];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int token = warp_ + i * kWarps;
      if (token < count) load_residual(first + token, addends[i]);
    }
    // Not unrolled: a block runs this code only a few times, and each instruction would have to be
    // fetched.
#pragma unroll 1
    for (int i = 0; i < kTogether && warp_ + i * kWarps < count; ++i) {
      float addend[kCount];
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          if (i == j) addend[k] = addends[j][k];
        }
      }
      const int token = warp_ + i * kWarps;
      write_token(sums_ + token * Sizes::kStagedStride, first + token, addend);
    }
  }

 private:
  static constexpr int kCount = kGated ? 2 : 4;
  static constexpr int kWarps = kMultipliers / 32;

  template <class Number>
  [[nodiscard]] __device__ bool are_aligned(const Number* at) const {
    return count_ == kCount &&
           reinterpret_cast<std::uintptr_t>(at) % (kCount * sizeof(Number)) == 0;
  }

  __device__ void load_residual(int token, float (&to)[kCount]) const {
    const DeviceRows& rows = epilogue_.residual;
    if (rows.data == nullptr) {
#pragma unroll
      for (float& number : to) number = 0;
      return;
    }
    const auto* at = static_cast<const float*>(rows.data) + token * rows.stride + output_;
    if (are_aligned(at)) {
#pragma unroll
      for (int i = 0; i < kCount; i += 2) {
        const float2 two = *reinterpret_cast<const float2*>(at + i);
        to[i] = two.x;
        to[i + 1] = two.y;
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = i < count_ ? at[i] : 0.0F;
  }

  __device__ void write_token(const float* sums, int token, const float (&addends)[kCount]) const {
    float values[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float value = kGated ? gated_output(epilogue_.spec, sums[i] + bias_[i],
                                                sums[kBoxRows + i] + up_bias_[i])
                                 : plain_output(epilogue_.spec, sums[i] + bias_[i]);
      values[i] = fmaf(epilogue_.spec.scale, value, addends[i]);
    }
    store(token, values);
  }

  __device__ void store(int token, const float (&values)[kCount]) const {
    const DeviceRows& out = epilogue_.out;
    const std::int64_t at = token * out.stride + output_;
    auto* wide = static_cast<float*>(out.data) + at;
    auto* narrow = static_cast<std::uint16_t*>(out.data) + at;
    if (out.dtype == DType::kF32 && are_aligned(wide)) {
#pragma unroll
      for (int i = 0; i < kCount; i += 2) {
        *reinterpret_cast<float2*>(wide + i) = make_float2(values[i], values[i + 1]);
      }
    } else if (out.dtype == DType::kBF16 && are_aligned(narrow)) {
#pragma unroll
      for (int i = 0; i < kCount; i += 2) {
        *reinterpret_cast<__nv_bfloat162*>(narrow + i) =
            __floats2bfloat162_rn(values[i], values[i + 1]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (i < count_) store_number(out, token, output_ + i, values[i]);
      }
    }
  }

  const LinearEpilogue& epilogue_;
  int warp_;
  const float* sums_;
  std::int64_t output_;
  int count_;  ///< outputs that the matrix has here
  float bias_[kCount];
  float up_bias_[kCount];
};

/// A thread's sums: in each eight tokens two tokens, of rows row() and row() + 8 of its warpgroup.
struct SumRows {
  /// The copy engine brings rows in another order than in their box (encode_boxes()).
  static __device__ int row() {
    const int in_eight = static_cast<int>(threadIdx.x) % 32 / 4;
    return static_cast<int>(threadIdx.x) % 128 / 32 * 16 + in_eight % 2 * 4 + in_eight / 2;
  }
  static __device__ int warpgroup() { return static_cast<int>(threadIdx.x) / 128; }
  static __device__ int token() { return static_cast<int>(threadIdx.x) % 4 * 2; }
};

/// Writes a complete tile: threads stage the sums of some tokens, wait for each other, and write
/// them.
template <class Sizes, bool kGated>
__device__ void write_tile(const Shared<Sizes>& shared, const Product& product,
                           const LinearEpilogue& epilogue, unsigned tile,
                           const float (&sums)[Sizes::kTokens / 2]) {
  constexpr int kMeeting = 1;  // barrier that put_together() uses too
  constexpr int kStride = Sizes::kStagedStride;
  const TilePlace<Sizes> place(product, tile);
  const LaneOutputs<Sizes, kGated> outputs(shared.staged, epilogue, place.rows);
  float* own =
      shared.staged + SumRows::token() * kStride + SumRows::warpgroup() * kBoxRows + SumRows::row();
#pragma unroll 1
  for (int first = 0; first < place.tokens; first += Sizes::kStagedTokens) {
    meet(kMeeting, kMultipliers);
#pragma unroll
    for (int i = 0; i < Sizes::kTokens / 8; ++i) {
      if (i * 8 / Sizes::kStagedTokens * Sizes::kStagedTokens != first) continue;
      float* eight = own + i * 8 % Sizes::kStagedTokens * kStride;
      eight[0] = sums[4 * i];
      eight[kStride] = sums[4 * i + 1];
      eight[8] = sums[4 * i + 2];
      eight[kStride + 8] = sums[4 * i + 3];
    }
    meet(kMeeting, kMultipliers);
    outputs.write(place.first_token + first, min(Sizes::kStagedTokens, place.tokens - first));
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::rounded
