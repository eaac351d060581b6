#pragma once

#include "weft/kernels/encoding/decode_boxes_cuda.cuh"
#include "weft/kernels/encoding/decode_cuda.cuh"
#include "weft/kernels/linear/linear_cuda.h"

namespace weft::cuda {

/// A row of an encoded matrix, held in blocks or in boxes.
struct EncodedRow {
  const std::uint8_t* blocks = nullptr;  ///< null: a row of padding, whose weights are 0
  DType dtype = DType::kQ4_0;
  int elements = 1;  ///< weights of a block, or columns of a box
  int bytes = 1;     ///< bytes of a block or box
  int in_box = -1;   ///< the row's index in its box; negative: blocks lie as in a file

  /// Returns weights k .. k + 7; `k` is a multiple of 8.
  [[nodiscard]] __device__ decoding::Eight load(std::int64_t k) const {
    if (blocks == nullptr) return {};
    const auto block = static_cast<int>(k) / elements;
    const std::uint8_t* from = blocks + std::int64_t{block} * bytes;
    const int in_block = static_cast<int>(k) - block * elements;
    return in_box < 0 ? decode_eight(dtype, from, in_block)
                      : decode_boxed_eight(dtype, from, in_box, in_block);
  }
};

/// Returns the row of output `output` of an encoded matrix; the ups are outputs N .. 2N-1.
__device__ inline EncodedRow encoded_output(const DeviceMatrix& weight, std::int64_t output) {
  EncodedRun run = weight.runs[0];
#pragma unroll
  for (int i = 1; i < DeviceMatrix::kMaxRuns; ++i) {
    if (i < weight.run_count && output >= weight.runs[i].first) run = weight.runs[i];
  }
  const auto* data = reinterpret_cast<const std::uint8_t*>(run.data);
  if (run.boxed) {
    const std::int64_t boxes = (output - run.first) / CodeBox::kRows;
    return {data + boxes * (weight.inputs / run.block_elements) * run.block_bytes, run.dtype,
            run.block_elements, run.block_bytes,
            static_cast<int>((output - run.first) % CodeBox::kRows)};
  }
  const std::int64_t row = (output - run.first) * (weight.inputs / run.block_elements);
  return {data + row * run.block_bytes, run.dtype, run.block_elements, run.block_bytes, -1};
}

/// Returns row `row` in the order of DeviceMatrix, in which gates and ups alternate.
__device__ inline EncodedRow encoded_row(const DeviceMatrix& weight, std::int64_t row) {
  if (!weight.gated) return encoded_output(weight, row);
  const std::int64_t in_pair = row % (2 * kGateBlock);
  const std::int64_t output = row / (2 * kGateBlock) * kGateBlock + in_pair % kGateBlock;
  if (output >= weight.outputs) return {};
  return encoded_output(weight, in_pair < kGateBlock ? output : weight.outputs + output);
}

}  // namespace weft::cuda
