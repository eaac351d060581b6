#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// Writes a product's outputs from sums that threads have staged in shared memory.
namespace weft::cuda {

/// Four neighbouring outputs, which a thread writes for some of the tokens, so that it waits only
/// once for many numbers.
///   kRows          rows of the matrix whose sums are staged
///   kTokens        tokens that are staged together at most
///   kStride        from a token's sums to the next one's
///   kThreads       threads that write
///   kGateDistance  rows from a gate to its up
///   kNorms         whether a norm may follow
template <int kRows, int kTokens, int kStride, int kThreads, int kGateDistance, bool kNorms>
class FourOutputs {
 public:
  /// The residuals of a thread's first tokens.
  struct Addends {
    static constexpr int kCount = std::clamp(kTokens * kRows / 4 / kThreads, 1, 8);
    float4 of[kCount];
  };

  /// Prepares the outputs of rows rows * kRows .. + kRows - 1.
  __device__ FourOutputs(const float* staged, bool gated, const LinearEpilogue& epilogue,
                         unsigned rows, int thread)
      : epilogue_(epilogue), gated_(gated) {
    const int fours = (gated_ ? kRows / 2 : kRows) / 4;
    const int column = thread % fours * 4;
    step_ = kThreads / fours;
    token_ = thread / fours;
    output_ = std::int64_t{rows} * (4 * fours) + column;
    sums_ = staged +
            (gated_ ? column / kGateDistance * 2 * kGateDistance + column % kGateDistance : column);
    count_ = static_cast<int>(min(std::int64_t{4}, epilogue.outputs - output_));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      bias_[i] = i < count_ ? epilogue.bias_of(output_ + i) : 0.0F;
      up_bias_[i] = i < count_ && gated_ ? epilogue.bias_of(epilogue.outputs + output_ + i) : 0.0F;
      norm_weight_[i] = kNorms && i < count_ ? epilogue.norm_weight_of(output_ + i) : 0.0F;
    }
  }

  /// Reads the residuals that write() adds, for a matrix that is not gated. This takes no extra
  /// time while sums are in flight.
  [[nodiscard]] __device__ Addends addends_of(int first, int count) const {
    return addends_from(first, token_, count);
  }

  /// Writes the outputs of `count` tokens from `first` on, whose sums are staged. The usual
  /// epilogues are compiled separately, so that a thread computes many outputs in parallel.
  __device__ void write(int first, int count) const {
    write(first, count, gated_ ? Addends{} : addends_of(first, count));
  }

  /// As above, with residuals that addends_of() has read.
  __device__ void write(int first, int count, const Addends& addends) const {
    if (count_ <= 0) return;
    if (gated_ && is_usual(Activation::kSilu) && epilogue_.residual.data == nullptr) {
      write_gated(first, count);
    } else if (!gated_ && is_usual(Activation::kNone)) {
      write_plain(first, count, addends);
    } else {
#pragma unroll 1
      for (int token = token_; token < count; token += step_) {
        const float4 addend = residual_of(first + token);
        store(first + token, gated_ ? outputs_of<true>(token, epilogue_.spec, addend)
                                    : outputs_of<false>(token, epilogue_.spec, addend));
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

  [[nodiscard]] __device__ Addends addends_from(int first, int begin, int count) const {
    Addends addends{};
    if (count_ <= 0) return addends;
#pragma unroll
    for (int i = 0; i < Addends::kCount; ++i) {
      const int token = begin + i * step_;
      if (token < count) addends.of[i] = residual_of(first + token);
    }
    return addends;
  }

  [[nodiscard]] __device__ bool is_usual(Activation activation) const {
    const LinearSpec& spec = epilogue_.spec;
    return spec.activation == activation && spec.soft_cap == 0 && spec.gate_limit == 0 &&
           spec.up_offset == 0 && spec.gate_alpha == 0;
  }

  __device__ void write_plain(int first, int count, Addends addends) const {
    const LinearSpec spec;
    for (int begin = token_; begin < count;) {
#pragma unroll
      for (int i = 0; i < Addends::kCount; ++i) {
        addends.of[i] = outputs_of<false>(min(begin + i * step_, count - 1), spec, addends.of[i]);
      }
#pragma unroll
      for (int i = 0; i < Addends::kCount; ++i) {
        if (begin + i * step_ < count) store(first + begin + i * step_, addends.of[i]);
      }
      begin += Addends::kCount * step_;
      addends = addends_from(first, begin, count);
    }
  }

  __device__ void write_gated(int first, int count) const {
    // Half as many, since each output has two sums.
    constexpr int kBatch = std::max(Addends::kCount / 2, 1);
    LinearSpec spec;
    spec.activation = Activation::kSilu;
    for (int begin = token_; begin < count; begin += kBatch * step_) {
      float4 values[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        values[i] = outputs_of<true>(min(begin + i * step_, count - 1), spec, {});
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (begin + i * step_ < count) store(first + begin + i * step_, values[i]);
      }
    }
  }

  template <bool kGated>
  [[nodiscard]] __device__ float4 outputs_of(int token, const LinearSpec& spec,
                                             const float4& addend) const {
    const float* at = sums_ + token * kStride;
    const float4 sum = *reinterpret_cast<const float4*>(at);
    float values[4] = {sum.x, sum.y, sum.z, sum.w};
    if constexpr (kGated) {
      const float4 up = *reinterpret_cast<const float4*>(at + kGateDistance);
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
    store_in(epilogue_.out, token, values);
    if constexpr (kNorms) {
      if (epilogue_.norm_after.out.data != nullptr) store_for_norm(token, values);
    }
  }

  __device__ void store_for_norm(int token, const float4& values) const {
    store_in(epilogue_.norm_after.out, token,
             {values.x * norm_weight_[0], values.y * norm_weight_[1], values.z * norm_weight_[2],
              values.w * norm_weight_[3]});
    // kLanes neighbouring lanes have kSquaredOutputs outputs. Either all of these exist or none.
    constexpr unsigned kLanes = kSquaredOutputs / 4;
    const unsigned together = ((1U << kLanes) - 1) << (threadIdx.x % 32 / kLanes * kLanes);
    float sum =
        values.x * values.x + values.y * values.y + values.z * values.z + values.w * values.w;
#pragma unroll
    for (unsigned step = kLanes / 2; step > 0; step /= 2) {
      sum += __shfl_xor_sync(together, sum, step);
    }
    if (threadIdx.x % kLanes != 0) return;
    epilogue_.norm_after.squares[(token * epilogue_.outputs + output_) / kSquaredOutputs] = sum;
  }

  __device__ void store_in(const DeviceRows& out, int token, const float4& values) const {
    const std::int64_t at = token * out.stride + output_;
    auto* wide = static_cast<float*>(out.data) + at;
    auto* narrow = static_cast<__nv_bfloat16*>(out.data) + at;
    if (out.dtype == DType::kF32 && are_aligned(wide)) {
      *reinterpret_cast<float4*>(wide) = values;
    } else if (out.dtype == DType::kBF16 && are_aligned(narrow)) {
      const __nv_bfloat162 first = __floats2bfloat162_rn(values.x, values.y);
      const __nv_bfloat162 second = __floats2bfloat162_rn(values.z, values.w);
      *reinterpret_cast<uint2*>(narrow) =
          make_uint2(reinterpret_cast<const std::uint32_t&>(first),
                     reinterpret_cast<const std::uint32_t&>(second));
    } else {
      store_number(out, token, output_, values.x);
      if (count_ > 1) store_number(out, token, output_ + 1, values.y);
      if (count_ > 2) store_number(out, token, output_ + 2, values.z);
      if (count_ > 3) store_number(out, token, output_ + 3, values.w);
    }
  }

  const LinearEpilogue& epilogue_;
  bool gated_;
  int step_;   ///< distance between two of the thread's tokens
  int token_;  ///< the thread's first token
  int count_;  ///< outputs that the matrix has here, at most four
  std::int64_t output_;
  const float* sums_;
  float bias_[4];
  float up_bias_[4];
  float norm_weight_[4];
};

}  // namespace weft::cuda
