#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/encoding/encoded_rows_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// Each lane of a warp sums one chunk of every 32, and then the warp adds up its lanes. This order
/// is the same for any number of rows and any tile, so a row's bits do not depend on them. A warp
/// multiplies several weight rows by several tokens, so that each number it loads is used more than
/// once.
namespace weft::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kLanes = 32;

struct Product {
  const void* in;
  std::int64_t in_stride;
  const std::int32_t* input_rows;
  DeviceMatrix weight;
  std::int64_t weight_rows;
  std::int64_t tokens;
};

// Numbers that a lane loads at once: 16 bytes of weights.

__device__ void widen(float4 packed, float (&to)[4]) {
  to[0] = packed.x;
  to[1] = packed.y;
  to[2] = packed.z;
  to[3] = packed.w;
}

__device__ float2 widen_pair(__half2 pair) { return __half22float2(pair); }
__device__ float2 widen_pair(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }

template <class Pair>
__device__ void widen(uint4 packed, float (&to)[8]) {
  const unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = widen_pair(reinterpret_cast<const Pair&>(words[i]));
    to[2 * i] = two.x;
    to[2 * i + 1] = two.y;
  }
}

/// Finds the numbers of a weight row by the row's index.
struct ByIndex {
  using Row = std::int64_t;
  static __device__ Row row(const DeviceMatrix& /*weight*/, std::int64_t index) { return index; }
};

struct F32 : ByIndex {
  using Input = float;
  static constexpr int kChunk = 4;
  static __device__ void load_input(const float* at, float (&to)[kChunk]) {
    widen(*reinterpret_cast<const float4*>(at), to);
  }
  static __device__ float load_weight(const DeviceMatrix& weight, std::int64_t row, std::int64_t k,
                                      float (&to)[kChunk]) {
    const auto* at = reinterpret_cast<const float*>(weight.data) + row * weight.stride + k;
    widen(__ldcs(reinterpret_cast<const float4*>(at)), to);
    return 1.0F;
  }
};

template <class Number, class Pair>
struct Narrow : ByIndex {
  using Input = Number;
  static constexpr int kChunk = 8;
  static __device__ void load_input(const Number* at, float (&to)[kChunk]) {
    widen<Pair>(*reinterpret_cast<const uint4*>(at), to);
  }
  static __device__ float load_weight(const DeviceMatrix& weight, std::int64_t row, std::int64_t k,
                                      float (&to)[kChunk]) {
    const auto* at = reinterpret_cast<const Number*>(weight.data) + row * weight.stride + k;
    widen<Pair>(__ldcs(reinterpret_cast<const uint4*>(at)), to);
    return 1.0F;
  }
};

/// Loads kCount floats, a multiple of four.
template <int kCount>
__device__ void load_floats(const float* at, float (&to)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 4) {
    float four[4];
    widen(*reinterpret_cast<const float4*>(at + i), four);
#pragma unroll
    for (int j = 0; j < 4; ++j) to[i + j] = four[j];
  }
}

/// Weights in blocks of an encoding.
struct Blocks {
  using Input = float;
  using Row = EncodedRow;
  static constexpr int kChunk = 8;
  static __device__ Row row(const DeviceMatrix& weight, std::int64_t index) {
    return encoded_row(weight, index);
  }
  static __device__ void load_input(const float* at, float (&to)[kChunk]) { load_floats(at, to); }
  static __device__ float load_weight(const DeviceMatrix& /*weight*/, const Row& row,
                                      std::int64_t k, float (&to)[kChunk]) {
    const decoding::Eight eight = row.load(k);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) to[i] = eight.at[i];
    return 1.0F;
  }
};

struct Q8 : ByIndex {
  using Input = float;
  static constexpr int kChunk = 16;
  static constexpr int kBlock = 32;  // inputs under one scale
  static __device__ void load_input(const float* at, float (&to)[kChunk]) { load_floats(at, to); }
  static __device__ float load_weight(const DeviceMatrix& weight, std::int64_t row, std::int64_t k,
                                      float (&to)[kChunk]) {
    const uint4 packed =
        __ldcs(reinterpret_cast<const uint4*>(weight.data + row * weight.stride + k));
    const unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      to[i] = static_cast<float>(static_cast<signed char>(words[i / 4] >> i % 4 * 8));
    }
    const auto* scales = reinterpret_cast<const __half*>(weight.scales);
    return __half2float(scales[row * (weight.inputs / kBlock) + k / kBlock]);
  }
};

__device__ float to_float(float x) { return x; }
__device__ float to_float(__half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

/// Loads inputs, with zeros past the row's `left` numbers. Memory there may hold anything, even
/// NaN.
template <class Kind>
__device__ void load_input(const typename Kind::Input* at, std::int64_t left,
                           float (&to)[Kind::kChunk]) {
  if (left >= Kind::kChunk) {
    Kind::load_input(at, to);
    return;
  }
#pragma unroll
  for (int i = 0; i < Kind::kChunk; ++i) to[i] = i < left ? to_float(at[i]) : 0.0F;
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, step);
  }
  return value;
}

/// Returns the index of a warp's weight row r, if its first output is `output`. In a gated matrix
/// gates and ups alternate.
template <int kRows>
__device__ std::int64_t weight_row(const Product& product, std::int64_t output, int r) {
  const std::int64_t row =
      product.weight.gated ? gate_row(output + r / 2) + r % 2 * kGateBlock : output + r;
  return min(row, product.weight_rows - 1);
}

template <class Kind, int kRows, int kTokens>
__device__ void multiply(const Product& product, std::int64_t output, std::int64_t token, int lane,
                         float (&sums)[kRows][kTokens]) {
  const typename Kind::Input* inputs[kTokens];
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    const std::int64_t at = min(token + t, product.tokens - 1);
    const std::int64_t row = product.input_rows == nullptr ? at : product.input_rows[at];
    inputs[t] = static_cast<const typename Kind::Input*>(product.in) + row * product.in_stride;
  }
  typename Kind::Row rows[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    rows[r] = Kind::row(product.weight, weight_row<kRows>(product, output, r));
  }

  const std::int64_t columns = product.weight.inputs;
#pragma unroll(kRows* kTokens <= 8 ? 4 : 1)
  for (std::int64_t k = lane * Kind::kChunk; k < columns; k += kLanes * Kind::kChunk) {
    float weights[kRows][Kind::kChunk];
    float scales[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      scales[r] = Kind::load_weight(product.weight, rows[r], k, weights[r]);
    }
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      float input[Kind::kChunk];
      load_input<Kind>(inputs[t] + k, columns - k, input);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float sum = weights[r][0] * input[0];
#pragma unroll
        for (int i = 1; i < Kind::kChunk; ++i) sum = fmaf(weights[r][i], input[i], sum);
        sums[r][t] = fmaf(scales[r], sum, sums[r][t]);
      }
    }
  }
}

template <class Kind, int kRows, int kTokens>
__global__ void __launch_bounds__(kWarps* kLanes)
    vector_kernel(const Product product, const LinearEpilogue epilogue) {
  static_assert(kRows * kTokens <= kLanes && kRows % 2 == 0);
  let_successor_start();
  wait_for_predecessor();
  const int lane = threadIdx.x % kLanes;
  const bool gated = product.weight.gated;
  const int outputs = gated ? kRows / 2 : kRows;
  const std::int64_t warp = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes;
  const std::int64_t output = warp * outputs;
  const std::int64_t token = std::int64_t{blockIdx.y} * kTokens;
  if (output >= epilogue.outputs) return;

  float sums[kRows][kTokens] = {};
  multiply<Kind, kRows, kTokens>(product, output, token, lane, sums);

  // Lane t * kRows + r keeps the sum of token t and row r. An up then moves to the lane of its
  // gate.
  float mine = 0;
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = warp_sum(sums[r][t]);
      if (lane == t * kRows + r) mine = sum;
    }
  }
  const float up = __shfl_down_sync(0xffffffffU, mine, 1);
  const int r = lane % kRows;
  const std::int64_t row = token + lane / kRows;
  const std::int64_t at = output + (gated ? r / 2 : r);
  if (lane >= kRows * kTokens || row >= product.tokens || at >= epilogue.outputs) return;
  if (gated && r % 2 != 0) return;
  const float first = mine + epilogue.bias_of(at);
  const float value =
      gated ? gated_output(epilogue.spec, first, up + epilogue.bias_of(epilogue.outputs + at))
            : plain_output(epilogue.spec, first);
  epilogue.store(row, at, value, epilogue.residual_of(row, at));
}

template <class Kind, int kRows, int kTokens>
Status start(const CudaLinearParams& params, Stream stream) {
  const Product product{.in = params.in.data,
                        .in_stride = params.in.stride,
                        .input_rows = params.input_rows,
                        .weight = params.weight,
                        .weight_rows = params.weight.rows(),
                        .tokens = params.rows};
  const std::int64_t outputs = kWarps * (params.weight.gated ? kRows / 2 : kRows);
  const auto blocks = static_cast<unsigned>((params.weight.outputs + outputs - 1) / outputs);
  const auto groups = static_cast<unsigned>((params.rows + kTokens - 1) / kTokens);
  return launch(vector_kernel<Kind, kRows, kTokens>, dim3(blocks, groups), dim3(kWarps * kLanes), 0,
                stream, product, LinearEpilogue(params));
}

/// Few tokens need many warps; many tokens need reuse of loaded numbers.
template <class Kind>
Status start(const CudaLinearParams& params, Stream stream) {
  if (params.rows == 1) return start<Kind, 2, 1>(params, stream);
  if (params.rows == 2) return start<Kind, 2, 2>(params, stream);
  if (params.rows <= 4) return start<Kind, 2, 4>(params, stream);
  return start<Kind, 4, 8>(params, stream);
}

}  // namespace

Status linear_vector(const CudaLinearParams& params, Stream stream) {
  if (params.weight.keeps_blocks()) return start<Blocks>(params, stream);
  switch (params.weight.dtype) {
    case DType::kF32:
      return start<F32>(params, stream);
    case DType::kF16:
      return start<Narrow<__half, __half2>>(params, stream);
    case DType::kBF16:
      return start<Narrow<__nv_bfloat16, __nv_bfloat162>>(params, stream);
    case DType::kQ8_0:
      return start<Q8>(params, stream);
    default:
      return status_of(cudaErrorInvalidValue);
  }
}

}  // namespace weft::cuda
