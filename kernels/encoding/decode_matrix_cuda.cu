#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/encoding/encoded_rows_cuda.cuh"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kNumbers = 8;  // weights of a thread

/// Loads weights k .. k + 7 of a row of a q8_0 matrix, which has its own layout on devices.
__device__ decoding::Eight load_q8_0(const DeviceMatrix& from, std::int64_t row, std::int64_t k) {
  constexpr std::int64_t kBlock = 32;
  const auto* scales = reinterpret_cast<const __half*>(from.scales);
  const float scale = __half2float(scales[row * (from.inputs / kBlock) + k / kBlock]);
  const auto* codes = reinterpret_cast<const std::int8_t*>(from.data) + row * from.stride + k;
  return decoding::eight([&](int i) { return scale * static_cast<float>(codes[i]); });
}

/// A thread block for each row. No successor may start early, because it would read the weights at
/// once.
__global__ void __launch_bounds__(kThreads)
    decode_kernel(const __grid_constant__ CudaDecodeParams params) {
  wait_for_predecessor();
  const std::int64_t row = blockIdx.x;
  EncodedRow from;
  if (params.from.keeps_blocks()) {
    from = params.from.gated ? encoded_row(params.from, row)
                             : encoded_output(params.from, params.first + row);
  }
  auto* to = reinterpret_cast<uint4*>(const_cast<std::byte*>(params.to.data)) +
             row * (params.to.stride / kNumbers);
  for (std::int64_t k = std::int64_t{threadIdx.x} * kNumbers; k < params.to.stride;
       k += kThreads * kNumbers) {
    decoding::Eight eight{};
    if (k < params.from.inputs) {
      eight =
          params.from.keeps_blocks() ? from.load(k) : load_q8_0(params.from, params.first + row, k);
    }
    unsigned words[kNumbers / 2];
#pragma unroll
    for (int i = 0; i < kNumbers / 2; ++i) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(eight.at[2 * i], eight.at[2 * i + 1]);
      words[i] = reinterpret_cast<const unsigned&>(pair);
    }
    to[k / kNumbers] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

}  // namespace

Status decode_matrix(const CudaDecodeParams& params, Stream stream) {
  const DeviceMatrix& from = params.from;
  const DeviceMatrix& to = params.to;
  const bool fits = from.encoded() && to.data != nullptr && to.dtype == DType::kBF16 &&
                    to.inputs == from.inputs && to.stride >= to.inputs && to.stride % 64 == 0 &&
                    to.gated == from.gated && params.first >= 0 &&
                    params.first + to.outputs <= from.outputs &&
                    (!from.gated || to.outputs == from.outputs);
  if (!fits) return status_of(cudaErrorInvalidValue);
  return launch(decode_kernel, dim3(static_cast<unsigned>(to.rows())), dim3(kThreads), 0, stream,
                params);
}

}  // namespace weft::cuda
