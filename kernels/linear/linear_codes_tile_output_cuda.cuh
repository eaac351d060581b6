#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_kinds_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_ring_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// Writes the outputs of kCodes for many tokens.
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Four outputs side by side in a tile, which a thread writes for some of the tokens. A thread of
/// StagedSums waits for each number, which takes long for many tokens.
template <class Sizes>
class FourOutputs {
 public:
  __device__ FourOutputs(const TileShared<Sizes>& shared, const CodesProduct& product,
                         const LinearEpilogue& epilogue, unsigned rows, int thread)
      : epilogue_(epilogue), gated_(product.gated) {
    const int fours = (gated_ ? kBoxRows : kTileRows) / 4;
    step_ = kMultipliers / fours;
    token_ = thread / fours;
    output_ = std::int64_t{rows} * (4 * fours) + thread % fours * 4;
    sums_ = shared.staged + thread % fours * 4;
    count_ = static_cast<int>(min(std::int64_t{4}, epilogue.outputs - output_));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      bias_[i] = i < count_ ? epilogue.bias_of(output_ + i) : 0.0F;
      up_bias_[i] = i < count_ && gated_ ? epilogue.bias_of(epilogue.outputs + output_ + i) : 0.0F;
    }
  }

  /// Writes the outputs of `count` tokens from `first` on, whose sums are staged. What most models
  /// have is compiled by itself, so that a thread computes many outputs side by side.
  __device__ void write(int first, int count) const {
    if (count_ <= 0) return;
    if (gated_ && is_usual(Activation::kSilu)) {
      write_usual<true>(first, count);
    } else if (!gated_ && is_usual(Activation::kNone)) {
      write_usual<false>(first, count);
    } else {
#pragma unroll 1
      for (int token = token_; token < count; token += step_) {
        write_token(first, token, epilogue_.spec, residual_of(first + token));
      }
    }
  }

 private:
  template <class Number>
  [[nodiscard]] __device__ bool are_aligned(const Number* at) const {
    return count_ == 4 && reinterpret_cast<std::uintptr_t>(at) % (4 * sizeof(Number)) == 0;
  }

  [[nodiscard]] __device__ float4 residual_of(int token) const {
    const DeviceRows& rows = epilogue_.residual;
    if (rows.data == nullptr) return {};
    const auto* at = static_cast<const float*>(rows.data) + token * rows.stride + output_;
    if (are_aligned(at)) return *reinterpret_cast<const float4*>(at);
    return {at[0], count_ > 1 ? at[1] : 0, count_ > 2 ? at[2] : 0, count_ > 3 ? at[3] : 0};
  }

  [[nodiscard]] __device__ bool is_usual(Activation activation) const {
    const LinearSpec& spec = epilogue_.spec;
    return spec.activation == activation && spec.soft_cap == 0 && spec.gate_limit == 0 &&
           spec.up_offset == 0 && spec.gate_alpha == 0;
  }

  template <bool kGated>
  __device__ void write_usual(int first, int count) const {
    constexpr int kStep = kMultipliers / (kGated ? kBoxRows / 4 : kTileRows / 4);
    constexpr int kBatch = std::min(8, Sizes::kTokens / kStep);  // tokens side by side
    LinearSpec spec;
    spec.activation = kGated ? Activation::kSilu : Activation::kNone;
    for (int begin = token_; begin < count; begin += kBatch * kStep) {
      float4 values[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int token = begin + i * kStep;
        values[i] = token < count ? residual_of(first + token) : float4{};
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        values[i] = outputs_of<kGated>(min(begin + i * kStep, count - 1), spec, values[i]);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (begin + i * kStep < count) store(first + begin + i * kStep, values[i]);
      }
    }
  }

  __device__ void write_token(int first, int token, const LinearSpec& spec,
                              const float4& addend) const {
    store(first + token,
          gated_ ? outputs_of<true>(token, spec, addend) : outputs_of<false>(token, spec, addend));
  }

  template <bool kGated>
  [[nodiscard]] __device__ float4 outputs_of(int token, const LinearSpec& spec,
                                             const float4& addend) const {
    const float* at = sums_ + token * Sizes::kStagedStride;
    const float4 sum = *reinterpret_cast<const float4*>(at);
    float values[4] = {sum.x, sum.y, sum.z, sum.w};
    if constexpr (kGated) {
      const float4 up = *reinterpret_cast<const float4*>(at + kBoxRows);
      const float ups[4] = {up.x, up.y, up.z, up.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[i] = gated_output(spec, values[i] + bias_[i], ups[i] + up_bias_[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) values[i] = plain_output(spec, values[i] + bias_[i]);
    }
    const float scale = epilogue_.spec.scale;
    return {fmaf(scale, values[0], addend.x), fmaf(scale, values[1], addend.y),
            fmaf(scale, values[2], addend.z), fmaf(scale, values[3], addend.w)};
  }

  __device__ void store(int token, const float4& values) const {
    const DeviceRows& out = epilogue_.out;
    const std::int64_t at = token * out.stride + output_;
    auto* wide = static_cast<float*>(out.data) + at;
    auto* narrow = static_cast<std::uint16_t*>(out.data) + at;
    if (out.dtype == DType::kF32 && are_aligned(wide)) {
      *reinterpret_cast<float4*>(wide) = values;
    } else if (out.dtype == DType::kBF16 && are_aligned(narrow)) {
      *reinterpret_cast<uint2*>(narrow) =
          make_uint2(bits_of(__floats2bfloat162_rn(values.x, values.y)),
                     bits_of(__floats2bfloat162_rn(values.z, values.w)));
    } else {
      store_number(out, token, output_, values.x);
      if (count_ > 1) store_number(out, token, output_ + 1, values.y);
      if (count_ > 2) store_number(out, token, output_ + 2, values.z);
      if (count_ > 3) store_number(out, token, output_ + 3, values.w);
    }
  }

  const LinearEpilogue& epilogue_;
  bool gated_;
  int step_;   ///< from one of the thread's tokens to the next
  int token_;  ///< the thread's first
  int count_;  ///< outputs that the matrix has here, at most four
  std::int64_t output_;
  const float* sums_;
  float bias_[4];
  float up_bias_[4];
};

/// Writes outputs of a tile through shared memory, as in the flat product: threads stage their
/// sums, meet, and write them.
template <class Sizes>
class TileOutputs {
 public:
  __device__ TileOutputs(const TileShared<Sizes>& shared, const CodesProduct& product,
                         const LinearEpilogue& epilogue, unsigned tile, int thread)
      : shared_(shared),
        epilogue_(epilogue),
        place_(product, tile),
        gated_(product.gated),
        thread_(thread),
        outputs_(shared, product, epilogue, place_.rows, thread) {
    if constexpr (kNormed) {  // read behind a barrier
      epilogue.load_roots<kMultipliers, Sizes::kTokens>(thread, place_.tokens, shared.roots);
    }
  }

  /// Stages a thread's sums of eight of the tile's tokens.
  __device__ void stage(int eight, const float (&sums)[4]) const {
    const int row = thread_ / 32 * 16 + thread_ % 32 / 4;
    const int pair = thread_ % 4 * 2;
    float* at = shared_.staged + (eight * 8 + pair) * Sizes::kStagedStride + row;
    float first = 1;
    float second = 1;
    if constexpr (kNormed) {
      first = shared_.roots[eight * 8 + pair];
      second = shared_.roots[eight * 8 + pair + 1];
    }
    at[0] = sums[0] * first;
    at[Sizes::kStagedStride] = sums[1] * second;
    at[8] = sums[2] * first;
    at[Sizes::kStagedStride + 8] = sums[3] * second;
  }

  /// Writes the staged tokens.
  __device__ void write() const {
    if (kNormed &&
        (epilogue_.norm_before.squares != nullptr || epilogue_.norm_after.out.data != nullptr)) {
      const StagedSums<kTileRows, Sizes::kStagedStride> staged{shared_.staged, gated_, kBoxRows};
      staged.template write<kMultipliers>(epilogue_, thread_, 0, place_.tokens, place_.rows,
                                          [](int column) { return column; });
    } else {
      outputs_.write(place_.first_token, place_.tokens);
    }
  }

  /// Writes a tile that is whole.
  __device__ void write_all(const float (&sums)[Sizes::kTokens / 2]) const {
    meet(1, kMultipliers);  // all have written the sums that were staged, and read the rings
#pragma unroll
    for (int i = 0; i < Sizes::kTokens / 8; ++i) {
      if (i * 8 >= place_.tokens) break;
      const float four[4] = {sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]};
      stage(i, four);
    }
    meet(1, kMultipliers);
    write();
  }

 private:
  static constexpr bool kNormed = Sizes::kTokens <= kNormedTokens;

  const TileShared<Sizes>& shared_;
  const LinearEpilogue& epilogue_;
  TilePlace<Sizes> place_;
  bool gated_;
  int thread_;
  FourOutputs<Sizes> outputs_;
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
