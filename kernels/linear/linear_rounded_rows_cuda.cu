#include <cuda_bf16.h>

#include <cfloat>
#include <cstdint>

#include "weft/kernels/cuda/instructions_cuda.cuh"
#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_rounded_rows_cuda.cuh"

namespace weft::cuda {
namespace {

constexpr int kWarps = 8;  // warps of a block, each with the columns of one scale
constexpr int kOfLane = static_cast<int>(kRoundedColumns) / 32;

struct RoundParams {
  DeviceRows in;
  const std::int32_t* input_rows;
  RoundedRows to;
  std::int64_t inputs;
};

__device__ float greatest_of_lanes(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, step));
  }
  return value;
}

__global__ void __launch_bounds__(kWarps * 32) round_rows_kernel(RoundParams params) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t group = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const std::int64_t row = blockIdx.y;
  let_successor_start();
  wait_for_predecessor();
  if (group * kRoundedColumns >= params.inputs) return;
  const std::int64_t from = params.input_rows == nullptr ? row : params.input_rows[row];
  const std::int64_t column = group * kRoundedColumns + lane * kOfLane;
  const auto* in = static_cast<const __nv_bfloat16*>(params.in.data);
  const uint2 four = *reinterpret_cast<const uint2*>(in + from * params.in.stride + column);
  float numbers[kOfLane] = {__uint_as_float(four.x << 16U), __uint_as_float(four.x & 0xffff0000U),
                            __uint_as_float(four.y << 16U), __uint_as_float(four.y & 0xffff0000U)};
  float greatest = 0;
#pragma unroll
  for (const float number : numbers) greatest = fmaxf(greatest, fabsf(number));
  greatest = greatest_of_lanes(greatest);
  const float scale = greatest / kGreatestE4m3;
  // Finite, so that zeros stay zeros where the greatest number is tiny.
  const float times = greatest > 0 ? fminf(kGreatestE4m3 / greatest, FLT_MAX) : 0.0F;
  *reinterpret_cast<std::uint32_t*>(params.to.codes + row * params.inputs + column) =
      e4m3_of(numbers[0] * times, numbers[1] * times, numbers[2] * times, numbers[3] * times);
  if (lane == 0) params.to.scales[group * params.to.padded + row] = scale;
}

}  // namespace

Status round_rows(const DeviceRows& in, const std::int32_t* input_rows, const RoundedRows& to,
                  Stream stream) {
  const std::int64_t groups = in.width / kRoundedColumns;
  const dim3 grid(static_cast<unsigned>((groups + kWarps - 1) / kWarps),
                  static_cast<unsigned>(to.rows));
  return launch(round_rows_kernel, grid, dim3(kWarps * 32), 0, stream,
                RoundParams{in, input_rows, to, in.width});
}

}  // namespace weft::cuda
