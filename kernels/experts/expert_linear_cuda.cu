#include "weft/kernels/activation_cuda.cuh"
#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/encoding/encoded_rows_cuda.cuh"
#include "weft/kernels/experts/experts.h"

namespace weft::cuda {
namespace {

// A warp computes one output for this many choices of its expert at a time, so that each weight
// is read once for all of them.
constexpr int kChoices = 8;
constexpr int kWarps = 8;
// Numbers of a row that a lane takes at a time.
constexpr int kNumbers = 8;
constexpr int kStep = kWarp * kNumbers;
constexpr int kQ8Block = 32;
// Represents all encodings that devices hold in blocks.
constexpr DType kBlocks = DType::kQ4_0;

struct Numbers {
  float at[kNumbers];
};

/// Loads eight numbers from a multiple of eight on, of a row aligned to 16 bytes.
template <DType kDType>
__device__ Numbers load_eight(const void* row, std::int64_t index) {
  Numbers numbers;
  if constexpr (kDType == DType::kF32) {
    const Four low = load_four(kDType, row, index);
    const Four high = load_four(kDType, row, index + 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      numbers.at[i] = low.at[i];
      numbers.at[4 + i] = high.at[i];
    }
  } else if constexpr (kDType == DType::kQ8_0) {
    const uint2 words = *reinterpret_cast<const uint2*>(static_cast<const std::byte*>(row) + index);
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      const unsigned word = i < 4 ? words.x : words.y;
      numbers.at[i] = static_cast<float>(static_cast<std::int8_t>(word >> (8 * (i % 4))));
    }
  } else {
    const uint4 words = *reinterpret_cast<const uint4*>(static_cast<const __half*>(row) + index);
    const unsigned pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = widen_pair(kDType, pairs[i]);
      numbers.at[2 * i] = pair.x;
      numbers.at[2 * i + 1] = pair.y;
    }
  }
  return numbers;
}

/// How load_weights() finds a row: by its index, or by its blocks.
template <DType kDType>
__device__ auto find_row(const DeviceMatrix& weight, std::int64_t row) {
  if constexpr (kDType == kBlocks) {
    return encoded_row(weight, row);
  } else {
    return row;
  }
}

__device__ Numbers load_blocks(const EncodedRow& row, std::int64_t index) {
  const decoding::Eight eight = row.load(index);
  Numbers numbers;
#pragma unroll
  for (int i = 0; i < kNumbers; ++i) numbers.at[i] = eight.at[i];
  return numbers;
}

/// Loads weights index .. index + 7 of a row; weights beyond the inputs are zeros.
template <DType kDType>
__device__ Numbers load_numbers(const DeviceMatrix& weight, std::int64_t row, std::int64_t index) {
  constexpr int kBytes = kDType == DType::kF32 ? 4 : (kDType == DType::kQ8_0 ? 1 : 2);
  Numbers numbers = load_eight<kDType>(weight.data + row * weight.stride * kBytes, index);
  if constexpr (kDType == DType::kQ8_0) {
    // The last block may lie wholly beyond the inputs and have no scale.
    if (index >= weight.inputs) return {};
    const auto* scales = reinterpret_cast<const __half*>(weight.scales);
    const float scale = __half2float(scales[row * (weight.inputs / kQ8Block) + index / kQ8Block]);
#pragma unroll
    for (float& number : numbers.at) number *= scale;
  }
  return numbers;
}

template <DType kDType, class Row>
__device__ Numbers load_weights(const DeviceMatrix& weight, const Row& row, std::int64_t index) {
  if constexpr (kDType == kBlocks) {
    return load_blocks(row, index);
  } else {
    return load_numbers<kDType>(weight, row, index);
  }
}

/// Loads inputs index .. index + 7, with zeros past the row's width.
template <DType kDType>
__device__ Numbers load_inputs(const void* row, std::int64_t index, std::int64_t width) {
  Numbers numbers = load_eight<kDType>(row, index);
  if (index + kNumbers > width) {
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      if (index + i >= width) numbers.at[i] = 0;
    }
  }
  return numbers;
}

/// A warp's sums for some choices: one output, of one row or (gated) two rows of weights.
struct Sums {
  float first[kChoices];
  float second[kChoices];
};

template <DType kWeights, DType kInputs>
__device__ Sums multiply(const CudaExpertLinearParams& params, const DeviceMatrix& weight,
                         std::int64_t row, int begin, int count) {
  const int lane = threadIdx.x % kWarp;
  const void* in[kChoices];
#pragma unroll
  for (int c = 0; c < kChoices; ++c) {
    const int place = begin + min(c, count - 1);
    in[c] = row_of(params.linear.in, params.gathers ? params.routing.token_of[place] : place);
  }
  const auto first_row = find_row<kWeights>(weight, row);
  const auto second_row = find_row<kWeights>(weight, weight.gated ? row + kGateBlock : row);
  Sums sums{};
  // Rows are padded with zeros to a multiple of 64, so all eight can be read.
  for (std::int64_t k = lane * kNumbers; k < weight.inputs; k += kStep) {
    const Numbers first = load_weights<kWeights>(weight, first_row, k);
    Numbers second{};
    if (weight.gated) second = load_weights<kWeights>(weight, second_row, k);
#pragma unroll
    for (int c = 0; c < kChoices; ++c) {
      if (c >= count) break;
      const Numbers numbers = load_inputs<kInputs>(in[c], k, weight.inputs);
#pragma unroll
      for (int i = 0; i < kNumbers; ++i) {
        sums.first[c] = fmaf(numbers.at[i], first.at[i], sums.first[c]);
        sums.second[c] = fmaf(numbers.at[i], second.at[i], sums.second[c]);
      }
    }
  }
#pragma unroll
  for (int c = 0; c < kChoices; ++c) {
    sums.first[c] = warp_sum(sums.first[c]);
    if (weight.gated) sums.second[c] = warp_sum(sums.second[c]);
  }
  return sums;
}

/// Applies bias, activation and gate to output n of a choice, and writes it.
__device__ void finish(const CudaLinearParams& params, const DeviceMatrix& weight,
                       const float* bias, std::int64_t row, std::int64_t n, float first,
                       float second) {
  if (bias != nullptr) first += bias[n];
  float value = 0;
  if (weight.gated) {
    if (bias != nullptr) second += bias[weight.outputs + n];
    value = gated_output(params.spec, first, second);
  } else {
    value = plain_output(params.spec, first);
  }
  value *= params.spec.scale;
  if (params.residual.data != nullptr) {
    value += load_one(DType::kF32, row_of(params.residual, row), n);
  }
  store_one(params.out.dtype, writable_row(params.out, row), n, value);
}

template <DType kWeights, DType kInputs>
__global__ void __launch_bounds__(kWarps* kWarp)
    expert_linear_kernel(const __grid_constant__ CudaExpertLinearParams params) {
  let_successor_start();
  wait_for_predecessor();
  const int expert = static_cast<int>(blockIdx.y);
  const int routed = params.first_expert + expert;
  const int begin = params.routing.starts[routed];
  const int end = params.routing.starts[routed + 1];
  const std::int64_t n = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (begin == end || n >= params.linear.weight.outputs) return;
  const DeviceMatrix weight = params.weights[expert];
  const float* bias = params.biases != nullptr ? params.biases[expert] : nullptr;
  const std::int64_t row = weight.gated ? n / kGateBlock * 2 * kGateBlock + n % kGateBlock : n;
  for (int place = begin; place < end; place += kChoices) {
    const int count = min(end - place, kChoices);
    const Sums sums = multiply<kWeights, kInputs>(params, weight, row, place, count);
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int c = 0; c < kChoices; ++c) {
      if (c != lane || c >= count) continue;
      finish(params.linear, weight, bias, place + c, n, sums.first[c], sums.second[c]);
    }
  }
}

}  // namespace

Status expert_linear(const CudaExpertLinearParams& params, Stream stream) {
  const DeviceMatrix& weight = params.linear.weight;
  if (params.linear.rows == 0) return Status::kSuccess;
  const dim3 grid(static_cast<unsigned>((weight.outputs + kWarps - 1) / kWarps),
                  static_cast<unsigned>(params.experts));
  void (*kernel)(CudaExpertLinearParams) = expert_linear_kernel<DType::kF32, DType::kF32>;
  if (weight.dtype == DType::kF16) kernel = expert_linear_kernel<DType::kF16, DType::kF16>;
  if (weight.dtype == DType::kBF16) kernel = expert_linear_kernel<DType::kBF16, DType::kBF16>;
  if (weight.dtype == DType::kQ8_0) kernel = expert_linear_kernel<DType::kQ8_0, DType::kF32>;
  if (weight.keeps_blocks()) kernel = expert_linear_kernel<kBlocks, DType::kF32>;
  return launch(kernel, grid, dim3(kWarps * kWarp), 0, stream, params);
}

}  // namespace weft::cuda
